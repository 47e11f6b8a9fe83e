"""The list of what was done: asked for once at a time, told in words, refused with the reason."""

import msgspec

from kmonitor.presenters.audit import AuditDesk, columns
from kmonitor_agent.protocol.messages import AuditRow, AuditTold, ErrorMessage, RunsTold
from tests.support.made_up_runs import NOW_WALL_S


class Asked:
    def __init__(self) -> None:
        self.messages: list[msgspec.Struct] = []

    def ask(self, message: msgspec.Struct) -> int:
        self.messages.append(message)
        return len(self.messages)


def row(number: int, what: str, *, run: str = "", subject: str = "") -> AuditRow:
    return AuditRow(number, NOW_WALL_S - 60, "anna (key 3f2a0000)", what, run, subject, "done")


def test_rows_are_told_with_the_names_of_their_runs():
    asked = Asked()
    desk = AuditDesk(asked.ask, {"r" * 32: "resnet"}.get)  # type: ignore[arg-type]
    desk.refresh()
    rows = [
        row(3, "command save", run="r" * 32, subject="c" * 32),
        row(2, "command save", run="x" * 32, subject="c" * 32),
        row(1, "authorize", subject="laptop " + "ab" * 32),
    ]
    told = desk.take(AuditTold(ask=1, rows=rows))

    picture = desk.picture(NOW_WALL_S)

    assert told
    assert [line.cells[3] for line in picture.lines] == ["resnet", "xxxxxxxx", rows[2].subject]
    assert {len(line.cells) for line in picture.lines} == {len(columns())}
    assert "c" * 32 in picture.lines[0].tooltip
    assert picture.text == ""


def test_one_question_is_open_at_a_time_and_other_answers_are_left_alone():
    asked = Asked()
    desk = AuditDesk(asked.ask, str)
    desk.refresh()
    desk.refresh()
    other = RunsTold(ask=7, hub="h", change=0, head=0, version="1", host="h", runs=[])

    assert len(asked.messages) == 1
    assert not desk.take(other)
    assert desk.picture(NOW_WALL_S).text == "Asking the hub\N{HORIZONTAL ELLIPSIS}"
    assert desk.take(AuditTold(ask=1, rows=[], more=False))
    assert desk.picture(NOW_WALL_S).text == "Nothing was done yet."
    desk.refresh()
    assert len(asked.messages) == 2


def test_a_viewer_is_told_why_there_is_no_list():
    desk = AuditDesk(Asked().ask, str)
    desk.refresh()
    desk.take(ErrorMessage(code="unauthorised", text="only operators may", ask=1))

    assert desk.picture(NOW_WALL_S).text == "The hub refuses: only operators may."


def test_that_there_are_more_is_said():
    desk = AuditDesk(Asked().ask, str)
    desk.refresh()
    desk.take(AuditTold(ask=1, rows=[row(1, "stop")], more=True))

    assert "kmonitor audit --last" in desk.picture(NOW_WALL_S).text
