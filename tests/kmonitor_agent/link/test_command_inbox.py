"""Each command reaches the session once, for this session, and at most sixteen at a time."""

from pathlib import Path

import pytest

from kmonitor_agent.guard import FaultLog
from kmonitor_agent.link.delivery import (
    COMMANDS_NAME,
    HELD_LIMIT,
    SEEN_LIMIT,
    CommandInbox,
    SeenCommands,
)
from kmonitor_agent.wire.messages.commands import Command
from kmonitor_agent.wire.messages.events import CommandProgress, Event
from tests.support.links import epoch


class _Desk:
    def __init__(self) -> None:
        self.taken: list[str] = []
        self.told: list[Event] = []
        self.faults = FaultLog()
        self.desk = CommandInbox(
            "session1", self._on, emit=self.told.append, now_s=lambda: 5.0, faults=self.faults
        )

    def _on(self, command: Command) -> None:
        if command.name == "diagnose":
            raise ZeroDivisionError
        self.taken.append(command.id)

    def take(self, command_id: str, session: str = "session1") -> None:
        self.desk.receive(Command(id=command_id, run="run1", session=session, name="save"))

    def end(self, command_id: str) -> None:
        self.desk.note(CommandProgress(t_s=0.0, id=command_id, name="save", state="done"))


def test_a_repeated_command_is_handed_over_once():
    desk = _Desk()
    for _ in range(3):
        desk.take("c1")

    assert desk.taken == ["c1"]
    assert desk.told == []


def test_a_command_for_another_process_is_refused_once():
    desk = _Desk()
    desk.take("c1", session="an older session")
    desk.take("c1", session="an older session")

    assert desk.taken == []
    assert desk.told == [
        CommandProgress(
            t_s=5.0,
            id="c1",
            name="save",
            state="refused",
            why="it was for another process of this run",
        )
    ]


def test_the_seventeenth_is_refused_until_one_has_ended():
    desk = _Desk()
    for n in range(HELD_LIMIT):
        desk.take(f"c{n}")
    desk.take("one too many")
    desk.desk.note(epoch(1))
    desk.desk.note(CommandProgress(t_s=0.0, id="c0", name="save", state="started"))
    desk.take("still too many")

    assert len(desk.taken) == HELD_LIMIT
    assert [e.state for e in desk.told if isinstance(e, CommandProgress)] == ["refused"] * 2

    desk.end("c0")
    desk.take("next")
    assert desk.taken[-1] == "next"


def test_a_fault_of_the_session_fails_the_command_and_nothing_else():
    desk = _Desk()
    desk.desk.receive(Command(id="c1", run="run1", session="session1", name="diagnose"))
    desk.take("c2")

    assert [e.state for e in desk.told if isinstance(e, CommandProgress)] == ["failed"]
    assert desk.faults.counts() == {"link.on_command": 1}
    assert desk.taken == ["c2"]


def test_what_was_seen_survives_the_process(tmp_path: Path):
    first = _Desk()
    first.take("early")
    first.desk.seen_commands.store_in(tmp_path)
    first.take("late")
    second = _Desk()
    second.desk.seen_commands.store_in(tmp_path)
    second.take("late")
    second.take("early")

    assert second.taken == []
    assert (tmp_path / COMMANDS_NAME).stat().st_mode & 0o777 == 0o600


def test_when_the_disk_refuses_a_command_still_runs_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    desk = _Desk()
    desk.desk.seen_commands.store_in(tmp_path / "gone")
    desk.take("c1")
    desk.take("c1")

    assert desk.taken == ["c1"]
    assert desk.faults.counts() == {"link.commands": 1}


def test_memory_of_commands_is_bounded(tmp_path: Path):
    seen = SeenCommands(tmp_path)
    for n in range(SEEN_LIMIT + 10):
        seen.add(f"c{n}")

    assert "c9" not in seen
    assert "c10" in seen
    assert f"c{SEEN_LIMIT + 9}" in SeenCommands(tmp_path)


def test_a_damaged_list_of_commands_keeps_what_is_readable(tmp_path: Path):
    (tmp_path / COMMANDS_NAME).write_text("good\nnot an id!\n\nalso-good\n")
    seen = SeenCommands(tmp_path)

    assert "good" in seen
    assert "also-good" in seen
    assert "not an id!" not in seen

    (tmp_path / COMMANDS_NAME).write_bytes(b"\xff\xfe")
    assert "good" not in SeenCommands(tmp_path)
