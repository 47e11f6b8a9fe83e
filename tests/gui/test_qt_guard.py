"""The guards against what would abort the process in Qt."""

import os
import sys

import pytest

from kmonitor.ui.shell.qt import qt_guard
from kmonitor.ui.shell.qt.qt_guard import (
    BrokenQt,
    lowers_none_count,
    require_sound_qt,
    settle_platform,
)

pytestmark = pytest.mark.gui


def test_installed_qt_is_sound():
    require_sound_qt()


def test_call_that_keeps_references_is_no_fault():
    assert not lowers_none_count(lambda: None)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="None is immortal from Python 3.12 on")
def test_references_lost_by_each_call_are_seen():
    kept = [None] * 1_000

    # Each call takes a reference away, as the faulty binding does.
    assert lowers_none_count(kept.pop)


def test_broken_qt_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(qt_guard, "lowers_none_count", lambda _: True)

    with pytest.raises(BrokenQt) as refused:
        require_sound_qt()
    assert "PySide6" in refused.value.what
    assert "!=6.12.0" in refused.value.remedy


@pytest.mark.parametrize(
    ("given", "is_drawn", "then"),
    [("", False, None), ("", True, "offscreen"), ("xcb", True, "xcb"), (None, False, None)],
)
def test_an_empty_platform_which_qt_would_abort_of_is_none(
    given: str | None, *, is_drawn: bool, then: str | None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("QT_QPA_PLATFORM", given or "")
    if given is None:
        monkeypatch.delenv("QT_QPA_PLATFORM")

    settle_platform(offscreen=is_drawn)

    assert os.environ.get("QT_QPA_PLATFORM") == then
