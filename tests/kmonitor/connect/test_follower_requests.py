"""Follower: no open request is lost, none is answered twice."""

from msgspec.structs import replace

from kmonitor.connect.follower import MAX_OPEN, OpenRequests
from kmonitor_agent.wire.messages.commands import CommandState, CommandStatus
from kmonitor_agent.wire.messages.unions import (
    CommandReply,
    CommandRequest,
    EditReply,
    EditRequest,
    ErrorMessage,
    ReplyPending,
    SeriesReply,
    SeriesRequest,
)

EDIT = EditRequest(request_id=0, run="r", name="x")
COMMAND = CommandRequest(request_id=0, id="c", run="r", name="save", session="b")


def told(number: int, state: CommandState) -> CommandReply:
    return CommandReply(
        request_id=number, status=CommandStatus(id="c", run="r", name="save", state=state)
    )


def send_due(questions: OpenRequests, now_s: float) -> list[int]:
    due = questions.due(now_s)
    for message in due:
        questions.sent(message, now_s)
    return [getattr(message, "request_id", 0) for message in due]


def test_a_question_is_sent_once_and_again_only_when_no_answer_came():
    questions = OpenRequests()
    number = questions.add(EDIT)

    assert send_due(questions, 0.0) == [number]
    assert send_due(questions, 1.0) == []
    assert send_due(questions, 3.5) == [number]
    assert questions.accept_reply(EditReply(request_id=number, run="r"), 4.0)
    assert not questions.accept_reply(EditReply(request_id=number, run="r"), 4.0)
    assert send_due(questions, 100.0) == []


def test_everything_open_is_asked_again_on_a_new_connection():
    questions = OpenRequests()
    numbers = [questions.add(EDIT), questions.add(COMMAND)]
    send_due(questions, 0.0)

    questions.resend_all(0.5)

    assert send_due(questions, 0.5) == numbers


def test_a_command_is_asked_again_until_final_and_told_at_news_only():
    questions = OpenRequests()
    number = questions.add(COMMAND)
    send_due(questions, 0.0)

    states: list[CommandState] = ["queued", "queued", "started", "done"]
    news = [questions.accept_reply(told(number, state), 0.1) for state in states]

    assert news == [True, False, True, True]
    assert send_due(questions, 5.0) == []


def test_a_hub_that_is_busy_is_asked_again_later():
    questions = OpenRequests()
    number = questions.add(EDIT)
    send_due(questions, 0.0)
    busy = ErrorMessage(code="busy", text="later", retry_ms=200, request_id=number)

    assert not questions.accept_reply(busy, 1.0)
    assert send_due(questions, 1.1) == []
    assert send_due(questions, 1.25) == [number]


def test_a_hub_at_work_on_an_answer_is_news_and_left_alone_for_a_while():
    questions = OpenRequests()
    number = questions.add(EDIT)
    send_due(questions, 0.0)

    assert questions.accept_reply(ReplyPending(request_id=number, done=1, of=2), 2.0)
    assert send_due(questions, 4.0) == []
    assert questions.accept_reply(EditReply(request_id=number, run="r"), 4.5)
    assert not questions.accept_reply(ReplyPending(request_id=number), 4.6)


def test_an_outline_is_news_and_the_whole_is_still_waited_for():
    questions = OpenRequests()
    number = questions.add(
        SeriesRequest(request_id=0, run="r", columns=["ram_bytes"], outline=True)
    )
    send_due(questions, 0.0)

    outline = SeriesReply(request_id=number, run="r", row=1, columns=[], one_of=9)
    assert questions.accept_reply(outline, 1.0)
    assert questions.accept_reply(replace(outline, one_of=1), 2.0)
    assert not questions.accept_reply(outline, 2.1)


def test_too_many_open_questions_drop_the_oldest():
    questions = OpenRequests()
    numbers = [questions.add(EDIT) for _ in range(MAX_OPEN + 3)]
    questions.due(0.0)

    assert questions.overflow() == numbers[:3]
    assert not questions.accept_reply(EditReply(request_id=numbers[0], run="r"), 0.0)
