"""Inspecting a model of Keras imports no framework that the script has not imported."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from keras.src.utils import module_utils

from kmonitor_agent.frameworks.model_building import lazy_imports_blocked
from tests.support.reloading import KERAS

pytestmark = KERAS

NAME = "framework_that_sleeps"


@pytest.fixture
def sleeping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Keras' own way to a framework that is installed and that no one has imported."""
    (tmp_path / f"{NAME}.py").write_text("VALUE = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    lazy: Any = module_utils.LazyModule(NAME)
    monkeypatch.setattr(module_utils, "sleeping", lazy, raising=False)
    yield lazy
    sys.modules.pop(NAME, None)


def test_what_nobody_imported_is_taken_to_be_missing_and_not_afterwards(sleeping: Any):
    with lazy_imports_blocked():
        assert not sleeping.available
        assert NAME not in sys.modules

    assert sleeping.available


def test_a_call_into_it_imports_it_as_ever(sleeping: Any):
    with lazy_imports_blocked():
        assert sleeping.VALUE == 3

    assert sleeping.available


def test_what_was_asked_for_before_is_there(sleeping: Any):
    assert sleeping.available

    with lazy_imports_blocked():
        assert sleeping.available


def test_what_the_script_imported_itself_is_there(sleeping: Any):
    __import__(NAME)

    with lazy_imports_blocked():
        assert sleeping.available
