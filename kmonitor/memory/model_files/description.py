"""A model's description from a process of its own, which may run the user's code."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, TypeVar

import msgspec

from kmonitor.base.errors import Expected
from kmonitor_agent.wire.messages.model_layout import ModelLayout

_CHILD: Final = "from kmonitor_agent.describing.layout_child import main; main()"
_PATIENCE_S: Final = 600.0
_LOOK_S: Final = 0.2
"""How often is looked whether an answer is still wanted."""

_MOST_TOLD: Final = 400
_KILLED: Final = 9
_NO_CLASS: Final = re.compile(r"Could not locate \w+ '|Unknown \w+: '|does not define ")
"""That a class was not found. Source: Keras 3.15's words, and ours."""

_NOTE: Final = re.compile(r"[IW]\d{4} |\d{4}-\d\d-\d\d \S+ [IW] |WARNING: All log messages before")
"""How a line of TensorFlow's log begins that tells of no failure.

Source: absl's and TensorFlow's own prefixes, read off TensorFlow 2.21.
"""


@dataclass(frozen=True, slots=True)
class ModelSource:
    """Where a model is made from; the fields are those of `kmonitor_agent.describing`.

    Attributes:
        config: JSON whose classes were checked; empty for a script.
        compile_config: JSON; empty if the model is not compiled.
        script: Path of a Python file.
        function: Its function that returns a model.
        module: A Python file with custom classes.
        is_trusted: Whether code in the configuration may run.
    """

    config: str = ""
    compile_config: str = ""
    script: str = ""
    function: str = ""
    module: str = ""
    is_trusted: bool = False


class GivenUp(Exception):
    """Who asked wants no answer any more."""


def never() -> bool:
    """For who waits to the end."""
    return False


_Answer = TypeVar("_Answer")


class _Told(msgspec.Struct, frozen=True):
    layouts: list[ModelLayout] = []
    scaled: list[tuple[float, ModelLayout]] = []
    error: str = ""


def describe(
    source: ModelSource,
    shapes: Sequence[Sequence[Sequence[int]]] = ((),),
    *,
    sequence: int = 0,
) -> list[ModelLayout]:
    """Make the model in a process of its own and have it described.

    Args:
        source: Of the model.
        shapes: For each description a shape for every input, without the batch; empty: the
            model's own.
        sequence: Length for open axes; 0: they stay open.

    Raises:
        Expected: It cannot be made there, or does not take such inputs.
    """
    asked = {
        "source": source,
        "shapes": shapes,
        "sequence": sequence,
    }
    return _answered(asked).layouts


def describe_scaled(
    source: ModelSource, scales: Sequence[float], is_given_up: Callable[[], bool] = never
) -> list[tuple[float, ModelLayout]]:
    """The model as it is, at scale 1, and with larger and smaller inputs.

    Args:
        source: Of the model.
        scales: Factors of lengths: sides of pictures, steps of sequences. Of a length that the
            model leaves open, multiples of a usual one.
        is_given_up: Asked now and then.

    Returns:
        Scale 1 first, then those that the model takes.

    Raises:
        Expected: It cannot be made there.
        GivenUp: By who asked.
    """
    own: list[Sequence[int]] = []
    asked = {"source": source, "shapes": [own], "scales": scales}
    told = _answered(asked, is_given_up)
    return [(1.0, told.layouts[0]), *told.scaled]


def _answered(asked: object, is_given_up: Callable[[], bool] = never) -> _Told:
    told = answer_of(_CHILD, asked, _Told, "makes the model", is_given_up)
    if told.error:
        raise Expected(f"The model cannot be described: {told.error}.", remedy(told.error))
    return told


def child_environment() -> dict[str, str]:
    """That of a process that makes models: no device is wanted, which a training may fill."""
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    paths = os.pathsep.join([str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, **quiet, "PYTHONPATH": paths}


def answer_of(
    code: str,
    asked: object,
    kind: type[_Answer],
    doing: str,
    is_given_up: Callable[[], bool] = never,
) -> _Answer:
    """What a process of its own answers, which may run the user's code.

    Args:
        code: Python that it runs; it reads JSON from its standard input and writes JSON.
        asked: What it is asked, encoded for it.
        kind: Of the answer.
        doing: What it does, for the error: "makes the model".
        is_given_up: Asked several times a second; once it is, the process is ended.

    Raises:
        Expected: It ended without an answer, or took too long.
        GivenUp: By who asked.
    """
    with (
        # A pipe could not be filled in parts: what waits for the answer is called again and again.
        tempfile.TemporaryFile() as question,
        _started(code, question, msgspec.json.encode(asked)) as child,
    ):
        try:
            answer, said = _waited_for(child, is_given_up)
        except BaseException:
            child.kill()
            raise
        if answer is None:
            child.kill()
            raise Expected(f"The process that {doing} took more than {_PATIENCE_S:.0f} s.")
    try:
        return msgspec.json.decode(answer, type=kind)
    except msgspec.DecodeError as exc:
        raise Expected(f"The process that {doing} ended {_end(child.returncode, said)}") from exc


def _end(status: int, said: bytes) -> str:
    """How a process ended, and the last that it said which is no mere note of a framework."""
    how = f"with exit status {status}"
    if status < 0:
        try:
            how = f"by {signal.Signals(-status).name}"
        except ValueError:
            how = f"by signal {-status}"
    if status == -_KILLED:
        how += ", as a system does that runs out of memory"
    lines = [each for each in said.decode(errors="replace").splitlines() if each.strip()]
    telling = [each for each in lines if not _NOTE.match(each)]
    words = f": {telling[-1].strip()[:_MOST_TOLD]}" if telling else ""
    return f"{how}{words}"


def _started(code: str, question: IO[bytes], asked: bytes) -> "subprocess.Popen[bytes]":
    question.write(asked)
    question.seek(0)
    return subprocess.Popen(  # noqa: S603 - our own code
        [sys.executable, "-P", "-c", code],
        stdin=question,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=child_environment(),
    )


def _waited_for(
    child: "subprocess.Popen[bytes]", is_given_up: Callable[[], bool]
) -> tuple[bytes | None, bytes]:
    """What a process writes and says until it ends; None for the first if it does not."""
    ends_s = time.monotonic() + _PATIENCE_S
    while time.monotonic() < ends_s:
        try:
            return child.communicate(timeout=_LOOK_S)
        except subprocess.TimeoutExpired:
            if is_given_up():
                raise GivenUp from None
    return None, b""


def remedy(error: str) -> str:
    """What to do about a process' error; empty if nothing is known."""
    if "No module named 'keras'" in error:
        return "Run this in the environment of the training, where Keras is."
    if _NO_CLASS.search(error):
        return "Custom classes: --custom classes.py runs that file."
    return ""
