"""Arguments of the callback: what is taken, and what the refusal says."""

import re
from pathlib import Path
from typing import Any

import pytest

from kmonitor_agent.recording.settings import (
    Settings,
    check_home,
    checked_folder,
    checked_interval_s,
    checked_limits,
    checked_name,
    checked_switch,
    refuse_unknown_arguments,
)
from kmonitor_agent.wire.limits import Limit


def test_long_name_is_elided_in_its_middle():
    name = checked_name("a" * 150 + "b" * 150)

    assert name is not None
    assert len(name) <= 200
    assert name.startswith("aaa")
    assert name.endswith("bbb")
    assert "…" in name


def test_name_is_one_line_of_any_script():
    assert checked_name("  Lauf\n№ 7 ") == "Lauf № 7"
    assert checked_name(None) is None


def test_name_without_what_cannot_be_sent_or_shown():
    assert checked_name("caf\udce9 1") == "caf\\udce9 1"
    assert checked_name("a\0b\x1bc") == "a\ufffdb\ufffdc"
    assert len(checked_name("\udcff" * 200) or "") <= 200


def test_folder_becomes_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)

    assert checked_folder("kept") == tmp_path / "kept"
    assert checked_folder(tmp_path / "abs") == tmp_path / "abs"
    assert checked_folder(None) is None


def test_one_limit_needs_no_list():
    limit = Limit("graph", 100)

    assert checked_limits(limit) == checked_limits([limit]) == (limit.spec,)
    assert checked_limits(()) == ()


@pytest.mark.parametrize(
    ("check", "given", "says"),
    [
        (checked_name, 7, "run_name="),
        (checked_name, "  ", "use a name"),
        (checked_folder, 7, "checkpoint_dir="),
        (checked_limits, "ram 80%", r"limits=\[Limit"),
        (checked_limits, [("ram", "80%")], r"limits=\[Limit"),
        (checked_limits, 5, r"limits=\[Limit"),
        (checked_interval_s, "1s", "use a number of seconds"),
        (checked_interval_s, True, "use a number of seconds"),
        (checked_interval_s, 0, "0.05 and 3600"),
        (checked_interval_s, float("nan"), "0.05 and 3600"),
        (checked_interval_s, 10**400, "0.05 and 3600"),
        (lambda given: checked_switch("commands", given), "no", "commands=True"),
    ],
)
def test_refusal_says_what_to_write(check: Any, given: Any, says: str):
    with pytest.raises((TypeError, ValueError), match=says):
        check(given)


def test_folder_that_can_be_none_is_refused(tmp_path: Path):
    file = tmp_path / "model.keras"
    file.touch()

    with pytest.raises(ValueError, match="is not a folder; use the path of a folder"):
        checked_folder(file)
    with pytest.raises(ValueError, match="is not a folder; use the path of a folder"):
        checked_folder("/dev/null")
    with pytest.raises(ValueError, match="contains a NUL"):
        checked_folder("a\0b")


@pytest.mark.parametrize(
    ("given", "says"),
    [("name", "run_name=?"), ("limit", "limits=?"), ("colour", "one of run_name, limits")],
)
def test_argument_that_there_is_not_says_which_was_meant(given: str, says: str):
    with pytest.raises(TypeError, match=re.escape(says)):
        refuse_unknown_arguments([given], Settings.__dataclass_fields__)


def test_home_that_is_no_fixed_folder_is_refused(tmp_path: Path):
    file = tmp_path / "home"
    file.touch()

    check_home({})
    check_home({"KMONITOR_HOME": str(tmp_path)})
    with pytest.raises(ValueError, match="is a file"):
        check_home({"KMONITOR_HOME": str(file)})
    with pytest.raises(ValueError, match="use an absolute path"):
        check_home({"KMONITOR_HOME": "here"})


def test_interval_and_switch_pass():
    assert checked_interval_s(2) == 2.0
    assert checked_switch("private", True) is True  # noqa: FBT003
