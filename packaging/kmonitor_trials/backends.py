"""Trials of Keras on JAX and on PyTorch, each in an environment without TensorFlow."""

import sys
from collections.abc import Sequence
from pathlib import Path

from kmonitor_trials.environments import (
    TEST_TOOLS,
    expect_missing,
    expect_tests_pass,
    install,
    make_environment,
)
from kmonitor_trials.outcome import ROOT, CannotTry, Failed, expect, tell

JAX = "jax==0.10.2"

ORBAX = "orbax-checkpoint==0.12.8"
"""Requirement of Keras' OrbaxCheckpoint; it needs JAX."""

TORCH = "torch==2.13.0"

TORCH_ON_CPU = f"{TORCH}+cpu" if sys.platform == "linux" else TORCH
"""By its local version: on Linux the plain one brings several gigabytes of CUDA along."""

CPU_BUILDS = "https://download.pytorch.org/whl/cpu"
"""Index of PyTorch's builds for the CPU, if pip's own indexes have none."""

TENSORBOARD = "tensorboard==2.21.*"
"""Requirement of PyTorch's `SummaryWriter`."""

TESTS = "tests/frameworks/backends"

PROMISE_TESTS = "tests/promise/test_frameworks.py"
"""Tests of frameworks that are not installed are skipped."""


def try_jax() -> None:
    """See that tests that depend on the backend pass on JAX.

    Raises:
        CannotTry: JAX cannot be had here.
        Failed: With the step that failed.
    """
    python = make_environment("jax")
    _install_first(python, JAX, [[]], "JAX")
    _install_first(python, ORBAX, [[JAX]], "Orbax")
    _try_backend(python, "jax")


def try_torch() -> None:
    """Check that tests that depend on the backend pass on PyTorch's build for the CPU.

    Raises:
        CannotTry: That build cannot be had here.
        Failed: With the step that failed.
    """
    python = make_environment("torch")
    ways = [[], ["--retries", "1", "--extra-index-url", CPU_BUILDS]]
    _install_first(python, TORCH_ON_CPU, ways, "PyTorch's build for the CPU")
    _try_backend(python, "torch")


def _install_first(python: Path, wanted: str, ways: Sequence[Sequence[str]], what: str) -> None:
    """Install what may not be there for everyone, in the first way that works."""
    why = ""
    for options in ways:
        try:
            install(python, ["--only-binary", ":all:", *options, wanted], locked=True)
        except Failed as exc:
            why = str(exc)
        else:
            return
    raise CannotTry(f"{what} ({wanted}) cannot be installed here: {why}")


def _try_backend(python: Path, backend: str) -> None:
    install(python, [str(ROOT), "keras", TENSORBOARD, *TEST_TOOLS], locked=True)
    expect_missing(python, "tensorflow", "PySide6")
    environ = {"KERAS_BACKEND": backend, "ALLOW_NO_WINDOW": "1", "ALLOW_NO_FRAMEWORK": "1"}
    said = expect(
        [python, "-c", f"import keras, {backend} as b; print(keras.__version__, b.__version__)"],
        what="versions",
        environ=environ,
    )
    tell(f"  keras and {backend}: {said.splitlines()[-1]}")
    expect_tests_pass(python, environ, below=TESTS)
    expect_tests_pass(python, environ, "-m", "full", below=PROMISE_TESTS)
