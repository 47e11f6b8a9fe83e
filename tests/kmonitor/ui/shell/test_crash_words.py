"""Contents of a crash report, and omissions."""

import logging
import re

from kmonitor.base.errors import UserError
from kmonitor.ui.shell import crash_reports


def told(raiser: object) -> str:
    try:
        raiser()  # type: ignore[operator]
    except Exception as exc:  # noqa: BLE001 - whatever it raises
        return crash_reports.crash_traceback_text(type(exc), exc, exc.__traceback__)
    raise AssertionError


def record(message: str, *args: object, name: str = "kmonitor.ui") -> logging.LogRecord:
    return logging.LogRecord(name, logging.INFO, "/x.py", 1, message, args, None)


def test_the_head_says_versions_and_nothing_of_the_machine():
    text = crash_reports.crash_head_text("KeyError", "2026-11-22 10:00:00 +0000")

    for word in ("kmonitor:", "Python:", "PySide6 ", "numpy ", "KeyError"):
        assert word in text


def test_a_message_keeps_what_stands_in_the_code_and_leaves_out_values():
    code = ["    return self.curve.height"]

    kept = "'NoneType' object has no attribute 'height'"
    assert crash_reports.without_values(kept, code) == kept
    assert crash_reports.without_values("'resnet-secret'", code) == "'…'"
    assert crash_reports.without_values('no file "run of anna"', code) == "no file '…'"
    assert crash_reports.without_values("open /data/anna/net.h5 failed", ()) == "open … failed"


def test_an_exception_is_told_with_its_causes_frames_and_lines():
    def fail() -> None:
        try:
            {}["secret-run"]
        except KeyError as exc:
            raise ValueError("cannot use 'secret-run' now") from exc

    text = told(fail)

    assert "KeyError: '…'" in text
    assert "ValueError: cannot use '…' now" in text
    assert "is the direct cause of" in text
    assert text.count("Traceback (most recent call last):") == 2
    assert "in fail" in text
    assert "secret-run" not in re.sub(r"\n    .*", "", text)


def test_words_made_for_the_user_are_left_out_whole():
    def fail() -> None:
        raise UserError("run secret is full", "Free gpu-07.")

    assert told(fail).splitlines()[-1] == "UserError: …"


def test_log_lines_keep_their_words_and_numbers_but_no_names():
    assert "%s" not in crash_reports.log_record_text(
        record("alert: %s: %s", "leak", "resnet grows")
    )
    assert "resnet" not in crash_reports.log_record_text(
        record("alert: %s: %s", "leak", "resnet grows")
    )
    assert "after 0.25 s" in crash_reports.log_record_text(record("window after %.2f s", 0.25))
    qt = record("%s", 'Could not find "secret" in /home/anna', name="kmonitor.ui.qt")
    assert "Could not find '…' in …" in crash_reports.log_record_text(qt)


def test_user_home_and_places_of_files_are_left_out():
    text = (
        '  File "/home/anna/work/kmonitor/ui/shell/qt/app.py", line 3 in start\n'
        '  File "/home/anna/.venv/lib/python3.11/site-packages/numpy/core.py", line 9 in f\n'
        '  File "/data/secret/script.py", line 1 in <module>\n'
        "see /home/anna/x, says anna; bananna stays\n"
    )

    clean = crash_reports.without_personal_names(text, home="/home/anna", user="anna")

    assert 'File "…/kmonitor/ui/shell/qt/app.py"' in clean
    assert 'File "…/site-packages/numpy/core.py"' in clean
    assert 'File "script.py"' in clean
    assert "see ~/x, says USER; bananna stays" in clean
