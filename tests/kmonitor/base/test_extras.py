"""The message where an extra's packages are lacking fits how kmonitor was installed."""

import importlib.metadata
import json
import sys
from types import SimpleNamespace

import pytest

from kmonitor.base.installation import how_to_add


def _installed_from(monkeypatch: pytest.MonkeyPatch, url: str | None) -> None:
    text = None if url is None else json.dumps({"url": url})
    found = SimpleNamespace(read_text=lambda _name: text)
    monkeypatch.setattr(importlib.metadata, "distribution", lambda _name: found)


@pytest.mark.parametrize("url", ["file:///home/me/kmonitor", None])
def test_from_a_clone_or_an_unknown_place_the_line_is_for_the_clone(
    monkeypatch: pytest.MonkeyPatch, url: str | None
):
    _installed_from(monkeypatch, url)

    assert (
        how_to_add("otlp") == 'Run this in your clone of kmonitor: python -m pip install ".[otlp]"'
    )


def test_from_a_wheel_the_line_names_the_wheel(monkeypatch: pytest.MonkeyPatch):
    _installed_from(monkeypatch, "file:///my%20files/kmonitor_keras-0.1.0-py3-none-any.whl")

    line = 'python -m pip install "/my files/kmonitor_keras-0.1.0-py3-none-any.whl[otlp]"'
    assert how_to_add("otlp").endswith(f": {line}")


def test_a_program_that_is_not_installed_names_the_clone(monkeypatch: pytest.MonkeyPatch):
    def none(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", none)

    assert "in your clone" in how_to_add("otlp")


def test_a_packed_program_says_that_another_environment_is_needed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)

    assert how_to_add("demo").startswith("Packages cannot be added to this bundled program.")
