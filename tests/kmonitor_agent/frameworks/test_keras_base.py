"""The base of our `Callback`: the Keras in use, and a clear message when there is none."""

import sys
from types import ModuleType
from typing import Any

import pytest

from kmonitor_agent.frameworks import callback_base
from kmonitor_agent.frameworks.callback_base import with_keras_callback


class Ours:
    """A callback as it is passed to fit."""


def install(monkeypatch: pytest.MonkeyPatch, name: str) -> type:
    base = type("Callback", (), {})
    callbacks: Any = ModuleType(f"{name}.callbacks")
    callbacks.Callback = base
    monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, f"{name}.callbacks", callbacks)
    return base


@pytest.fixture(autouse=True)
def no_keras(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("keras", "tf_keras"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.delenv("TF_USE_LEGACY_KERAS", raising=False)


def test_tf_keras_is_taken_when_it_is_the_one_imported(monkeypatch: pytest.MonkeyPatch):
    base = install(monkeypatch, "tf_keras")

    made = with_keras_callback(Ours)

    assert issubclass(made, base)
    assert issubclass(made, Ours)
    assert (made.__name__, made.__doc__) == ("Ours", Ours.__doc__)
    assert with_keras_callback(Ours) is made
    assert with_keras_callback(made) is made


def test_keras_3_is_taken_before_tf_keras_unless_the_old_one_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
):
    new, old = install(monkeypatch, "keras"), install(monkeypatch, "tf_keras")

    assert issubclass(with_keras_callback(Ours), new)
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")
    assert issubclass(with_keras_callback(Ours), old)


def test_without_any_keras_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(callback_base, "find_spec", lambda _: None)

    with pytest.raises(ImportError, match="install keras"):
        with_keras_callback(Ours)
