"""Requests to a separate process, its answers, and how it is given up."""

import pytest

from kmonitor.base.errors import UserError
from kmonitor.memory.model_files.description import DescriptionCancelled, answer_of

LATE = (
    "import json, sys, threading\n"
    "threading.Event().wait(0.5)\n"
    "asked = json.load(sys.stdin)\n"
    "print(json.dumps({'length': len(asked['text'])}))"
)


def test_a_long_question_reaches_a_process_that_is_slow_to_read():
    told = answer_of(LATE, {"text": "x" * 1_000_000}, dict[str, int], "counts")

    assert told == {"length": 1_000_000}


def test_who_gives_up_gets_no_answer_and_waits_no_longer():
    with pytest.raises(DescriptionCancelled):
        answer_of(
            "import threading; threading.Event().wait(3600)", {}, dict, "sleeps", lambda: True
        )


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("os._exit(7)", "ended with exit status 7$"),
        ("os.kill(os.getpid(), 15)", "ended after receiving SIGTERM$"),
        (
            "os.kill(os.getpid(), 9)",
            "ended after receiving SIGKILL, as happens when the system runs out of memory$",
        ),
        ("print('Check failed: x', file=sys.stderr); os._exit(1)", "status 1: Check failed: x$"),
    ],
)
def test_a_process_that_ends_by_itself_is_told_by_its_status_and_no_note_of_a_framework(
    code: str, words: str
):
    notes = (
        "I0000 00:00:1763854.1 port.cc:153] oneDNN custom operations are on.",
        "2026-11-22 23:08:01.5: I tensorflow/core/util/port.cc:153] oneDNN is on",
        "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR",
    )
    says = "".join(f"print({each!r}, file=sys.stderr, flush=True)\n" for each in notes)

    with pytest.raises(UserError, match=words):
        answer_of(f"import os, sys\n{says}{code}", {}, dict, "creates the model")


def test_a_process_that_ends_without_an_answer_is_an_error():
    with pytest.raises(UserError, match="no such layer"):
        answer_of("raise SystemExit('no such layer')", {}, dict, "loads the model")
