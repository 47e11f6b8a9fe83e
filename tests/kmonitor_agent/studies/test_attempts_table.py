"""The attempts as people read it, and the line that moves in a terminal."""

import io

from typing_extensions import override

from kmonitor_agent.studies.attempts import Attempt, Attempts
from kmonitor_agent.studies.terminal_progress import TerminalProgress, remaining_text

ATTEMPTS = (
    Attempt(0, 1, "finished", seconds=12.34, steps=500, peak_bytes=2**30, growth_bytes=2**20),
    Attempt(1, 1, "killed", "it was killed\nby somebody", "SIGSEGV", 0.5, growth_bytes=-(2**20)),
    Attempt(1, 2, "out_of_memory", seconds=754.0, vram_bytes=2**31, resumed=True),
)


class Terminal(io.StringIO):
    @override
    def isatty(self) -> bool:
        return True


def test_the_attempts_print_as_a_table():
    lines = str(Attempts(ATTEMPTS)).splitlines()

    assert lines[0].split("  ")[0] == "fold"
    assert " ".join(lines[2].split()) == "0 1 finished 12.3 500 1.0 GiB +1.0 MiB -"
    assert "killed (SIGSEGV)" in lines[3]
    assert "-1.0 MiB" in lines[3]
    assert "2, resumed" in lines[4]
    assert "2.0 GiB" in lines[4]
    assert lines[5:] == ["fold 1: it was killed"]


def test_what_an_exception_says_cannot_act_on_the_terminal():
    said = io.StringIO()
    attempt = Attempt(2, 1, "error", "ValueError: x\x1b]0;title\x07\u202e\udc80")

    TerminalProgress(3, said).ended(attempt, again=False)
    table = str(Attempts([attempt]))

    assert said.getvalue().endswith(": ValueError: x\ufffd]0;title\ufffd\ufffd\ufffd\n")
    assert table.endswith("\nfold 2: ValueError: x\ufffd]0;title\ufffd\ufffd\ufffd")


def test_an_interruption_tells_what_is_over_and_how_it_goes_on():
    said = io.StringIO()
    TerminalProgress(3, said).interrupted(1, "go on")
    TerminalProgress(0, said, "trial").interrupted(1, "")
    TerminalProgress(0, said, "trial").interrupted(2, "")

    assert said.getvalue().splitlines() == [
        "kmonitor: interrupted; 1 of 3 folds is done; go on",
        "kmonitor: interrupted; 1 trial is done",
        "kmonitor: interrupted; 2 trials are done",
    ]


def test_each_fold_that_ended_has_a_line():
    said = io.StringIO()

    TerminalProgress(2, said).ended(ATTEMPTS[1], again=True)

    assert said.getvalue() == (
        "kmonitor: fold 1 killed (SIGSEGV) (0.50 s, 0 B): it was killed; it will be retried\n"
    )


def test_a_line_moves_only_in_a_terminal_and_leaves_nothing_behind():
    file, terminal = io.StringIO(), Terminal()

    for stream in (file, terminal):
        progress = TerminalProgress(4, stream)
        progress.progressed(1, [], [])
        progress.close()

    assert not file.getvalue()
    shown, _, wiped = terminal.getvalue().partition("folds")
    assert "[#####...............] 1/4" in shown
    assert wiped.strip(" \r") == ""


def test_a_broken_stream_is_left_alone():
    broken = io.StringIO()
    broken.close()

    TerminalProgress(1, broken).print_line("lost")


def test_times_ahead_are_rough():
    assert [remaining_text(each) for each in (0.1, 40.2, 200.0, 9000.0)] == [
        "1 s", "40 s", "3 min", "2.5 h",
    ]  # fmt: skip
