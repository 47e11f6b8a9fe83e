"""Trials of tf_keras 2 (eager, and in v1 graph mode), on its newest and its oldest version."""

from pathlib import Path

from kmonitor_trials.backends import PROMISE_TESTS, TENSORBOARD
from kmonitor_trials.environments import (
    TEST_TOOLS,
    expect_tests_pass,
    install,
    make_environment,
)
from kmonitor_trials.outcome import ROOT, expect, tell

NEWEST = ("keras", "tensorflow-cpu==2.21.*", "tf-keras==2.21.*")
OLDEST = ("keras==3.6.*", "tensorflow-cpu==2.18.*", "tf-keras==2.18.*")
"""tf-keras works only with the TensorFlow of the same version."""

TESTS = "tests/frameworks/tf_keras"


def try_newest() -> None:
    """All of tf_keras' tests pass on the newest version.

    Raises:
        Failed: With what did not work.
    """
    python = _try("tf-keras", NEWEST, "-m", "keras", locked=True)
    install(python, [TENSORBOARD], locked=True)
    expect_tests_pass(python, {"ALLOW_NO_WINDOW": "1"}, "-m", "full", below=PROMISE_TESTS)


def try_oldest() -> None:
    """The usual ones pass on the version that goes with the oldest TensorFlow.

    Raises:
        Failed: With what did not work.
    """
    _try("tf-keras-floor", OLDEST, "-m", "not full", locked=False)


def _try(name: str, versions: tuple[str, str, str], *options: str, locked: bool) -> Path:
    keras, tensorflow, tf_keras = versions
    python = make_environment(name)
    install(python, [str(ROOT), keras, tensorflow, *TEST_TOOLS], locked=locked)
    # It requires the package `tensorflow`, which tensorflow-cpu is in all but name.
    install(python, ["--no-deps", tf_keras], locked=False)
    said = expect(
        [
            python,
            "-c",
            "import tf_keras, tensorflow as t; print(tf_keras.__version__, t.__version__)",
        ],
        what="versions",
        environ={"TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    tell(f"  tf_keras and tensorflow: {said.splitlines()[-1]}")
    expect_tests_pass(python, {"ALLOW_NO_WINDOW": "1"}, *options, below=TESTS)
    return python
