"""What a process of its own is asked and answers, and how it is given up."""

import time

import pytest

from kmonitor.errors import Expected
from kmonitor.model_files.description import GivenUp, answer_of

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
    began_s = time.monotonic()

    with pytest.raises(GivenUp):
        answer_of("import threading; threading.Event().wait(60)", {}, dict, "sleeps", lambda: True)

    assert time.monotonic() - began_s < 30


def test_a_process_that_ends_without_an_answer_is_an_error():
    with pytest.raises(Expected, match="no such layer"):
        answer_of("raise SystemExit('no such layer')", {}, dict, "loads the model")
