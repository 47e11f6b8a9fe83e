import sys

import pytest

from kmonitor.cli.window import trouble_of, version_of, window_packages


def test_the_versions_of_the_lock_are_fine():
    assert trouble_of("6.11.3", "0.14.0") == ""


@pytest.mark.parametrize(
    ("qt", "charts", "named"),
    [("6.9.1", "0.14.0", "6.9.1"), ("6.10.1", "0.14.0", "6.10.1"), ("6.11.3", "0.13.7", "0.13.7")],
)
def test_what_is_too_old_is_named(qt: str, charts: str, named: str):
    assert named in trouble_of(qt, charts)


def test_the_release_that_crashes_old_pythons_is_fine_on_newer_ones(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(sys, "version_info", _Version((3, 11, 2)))
    crashing = trouble_of("6.12.0", "0.14.0")
    monkeypatch.setattr(sys, "version_info", _Version((3, 12, 1)))
    sound = trouble_of("6.12.0", "0.14.0")

    assert "crashes on Python 3.11" in crashing
    assert sound == ""


def test_what_is_not_installed_has_no_version():
    assert version_of("no-such-distribution-of-ours") == ""
    assert set(window_packages()) == {"PySide6-Essentials", "pyqtgraph"}


class _Version(tuple[int, ...]):
    __slots__ = ()

    @property
    def major(self) -> int:
        return self[0]

    @property
    def minor(self) -> int:
        return self[1]
