"""The audit list: requested once at a time, written in words, refused with the reason."""

import msgspec

from kmonitor.ui.hosts.audit import AuditHub, AuditStore, audit_columns
from kmonitor.ui.hosts.connection_status import ConnectionStatus
from kmonitor.ui.hosts.hosts import audit_blocked_reason
from kmonitor_agent.wire.messages.unions import AuditReply, AuditRow, ErrorMessage, RunsReply
from tests.support.made_up_runs import NOW_WALL_S, told_hub


class Asked:
    def __init__(self) -> None:
        self.messages: list[msgspec.Struct] = []

    def ask(self, message: msgspec.Struct) -> int:
        self.messages.append(message)
        return len(self.messages)


def book_of(asked: Asked, *addresses: str, names: dict[str, str] | None = None) -> AuditStore:
    book = AuditStore((names or {}).get)
    book.show_hubs([AuditHub(address, address.upper(), asked.ask) for address in addresses])
    return book


def row(
    number: int, what: str, *, run: str = "", subject: str = "", ago_s: float = 60.0
) -> AuditRow:
    return AuditRow(number, NOW_WALL_S - ago_s, "anna (key 3f2a0000)", what, run, subject, "done")


def test_rows_are_told_with_the_names_of_their_runs():
    asked = Asked()
    desk = book_of(asked, "near", names={"r" * 32: "resnet"})
    desk.refresh()
    rows = [
        row(3, "command save", run="r" * 32, subject="c" * 32),
        row(2, "command save", run="x" * 32, subject="c" * 32),
        row(1, "authorize", subject="laptop " + "ab" * 32),
    ]
    told = desk.apply_reply(AuditReply(request_id=1, rows=rows))

    picture = desk.state(NOW_WALL_S)

    assert told
    assert [line.cells[4] for line in picture.lines] == ["resnet", "xxxxxxxx", rows[2].subject]
    assert {len(line.cells) for line in picture.lines} == {len(audit_columns())}
    assert "c" * 32 in picture.lines[0].tooltip
    assert picture.text == ""


def test_one_question_is_open_at_a_time_and_other_answers_are_left_alone():
    asked = Asked()
    desk = book_of(asked, "near")
    desk.refresh()
    desk.refresh()
    other = RunsReply(request_id=7, hub="h", change=0, head=0, version="1", host="h", runs=[])

    assert len(asked.messages) == 1
    assert not desk.apply_reply(other)
    assert desk.state(NOW_WALL_S).text == "Loading\u2026"
    assert desk.apply_reply(AuditReply(request_id=1, rows=[], more=False))
    assert desk.state(NOW_WALL_S).text == "The audit log is empty."
    desk.refresh()
    assert len(asked.messages) == 2


def test_a_viewer_is_told_why_there_is_no_list():
    desk = book_of(Asked(), "near")
    desk.refresh()
    desk.apply_reply(ErrorMessage(code="unauthorized", text="only operators may", request_id=1))

    assert desk.state(NOW_WALL_S).text == "The hub refused the request: only operators may."


def test_that_there_are_more_is_said():
    desk = book_of(Asked(), "near")
    desk.refresh()
    desk.apply_reply(AuditReply(request_id=1, rows=[row(1, "stop")], more=True))

    assert "kmonitor audit --last" in desk.state(NOW_WALL_S).text


def test_the_lists_of_all_hubs_are_one_by_time_and_one_host_can_be_chosen():
    asked = Asked()
    book = book_of(asked, "near", "far")
    book.refresh()
    near = [row(2, "save", ago_s=10), row(1, "stop", ago_s=30)]
    assert book.apply_reply(AuditReply(request_id=1, rows=near))
    assert book.state(NOW_WALL_S).text == "FAR: Loading\u2026"
    assert book.apply_reply(AuditReply(request_id=2, rows=[row(1, "pin", ago_s=20)]))

    both = book.state(NOW_WALL_S)
    one = book.state(NOW_WALL_S, "far")

    assert [line.cells[1:4:2] for line in both.lines] == [
        ("NEAR", "save"),
        ("FAR", "pin"),
        ("NEAR", "stop"),
    ]
    assert len({line.row for line in both.lines}) == 3
    assert both.hosts == {"near": "NEAR", "far": "FAR"}
    assert [line.cells[3] for line in one.lines] == ["pin"]
    assert both.text == one.text == ""


def test_a_hub_that_may_not_be_asked_is_not_and_says_why():
    asked = Asked()
    link = ConnectionStatus()
    assert audit_blocked_reason(link, "gpu") == "Not connected."
    link.connected(told_hub())
    assert audit_blocked_reason(link, "gpu") == ""
    link.connected(msgspec.structs.replace(told_hub(), role="viewer"))
    why = audit_blocked_reason(link, "gpu")
    book = AuditStore(str)
    book.show_hubs([AuditHub("a", "A", asked.ask, why), AuditHub("b", "B", asked.ask)])
    book.refresh()
    book.apply_reply(AuditReply(request_id=1, rows=[row(1, "stop")]))

    assert len(asked.messages) == 1
    assert book.state(NOW_WALL_S).text == f"A: {why}"
    assert "--role operator" in why
