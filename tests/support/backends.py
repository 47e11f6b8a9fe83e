"""Tests of Keras on JAX and PyTorch: they run where one of the two is what Keras runs on."""

import functools
import gc
import importlib
import importlib.util
import os
from collections.abc import Iterator
from typing import Any

import pytest

from kmonitor_agent.frameworks import detection
from kmonitor_agent.recording.runs import RUNS

OTHERS = ("jax", "torch")

ON_BACKEND = [
    pytest.mark.slow,
    # WORKAROUND keras/src/backend/common/variables.py: numpy 2 warns that Keras' variables know no
    # copy keyword. Remove when `Variable.__array__` does.
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]
"""Marks of every test here."""


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No framework that another test met, and no run that outlives its test; where imported."""
    monkeypatch.setattr(detection, "_known", {})
    yield
    RUNS.close()


@functools.cache
def backend_here() -> str:
    """Backend of Keras in this process: the requested one, else the first that is installed."""
    found = [
        name for name in ("tensorflow", *OTHERS) if importlib.util.find_spec(name) is not None
    ]
    chosen = os.environ.get("KERAS_BACKEND") or (found[0] if found else "")
    if chosen not in found or importlib.util.find_spec("keras") is None:
        return ""
    if chosen in OTHERS:
        os.environ["KERAS_BACKEND"] = chosen  # before anything imports Keras
    return chosen


def on_backend(*names: str, only: tuple[str, ...] = OTHERS) -> Any:
    """Modules that need a backend; the test module that calls this is skipped where one is
    missing.

    Args:
        names: Modules to import; the answer is one module, or a list of several.
        only: The backends that its tests are for.
    """
    here = backend_here()
    if here not in only:
        pytest.skip(
            f"for Keras on {' or '.join(only)}; here it runs on {here or 'nothing'}: `make"
            " test-full` has an environment for each",
            allow_module_level=True,
        )
    modules = [importlib.import_module(name) for name in names]
    # Objects of the imports are never garbage; without this a collection takes ten times as long.
    gc.collect()
    gc.freeze()
    return modules[0] if len(modules) == 1 else modules
