"""A model's description from a process of its own, which may run the user's code."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from kmonitor.errors import Expected
from kmonitor_agent.protocol.model_layout import ModelLayout

_CHILD: Final = "from kmonitor_agent.describing.child import main; main()"
_PATIENCE_S: Final = 600.0
_MOST_TOLD: Final = 400


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


_Answer = TypeVar("_Answer")


class _Told(msgspec.Struct, frozen=True):
    layouts: list[ModelLayout] = []
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
    told = answer_of(_CHILD, asked, _Told, "makes the model")
    if told.error:
        raise Expected(f"The model cannot be described: {told.error}.", _remedy(told.error))
    return told.layouts


def child_environment() -> dict[str, str]:
    """That of a process that makes models: no device is wanted, which a training may fill."""
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, **quiet, "PYTHONPATH": paths}


def answer_of(code: str, asked: object, kind: type[_Answer], doing: str) -> _Answer:
    """What a process of its own answers, which may run the user's code.

    Args:
        code: Python that it runs; it reads JSON from its standard input and writes JSON.
        asked: What it is asked, encoded for it.
        kind: Of the answer.
        doing: What it does, for the error: "makes the model".

    Raises:
        Expected: It ended without an answer, or took too long.
    """
    try:
        ended = subprocess.run(  # noqa: S603 - our own code
            [sys.executable, "-P", "-c", code],
            input=msgspec.json.encode(asked),
            env=child_environment(),
            capture_output=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired as exc:
        raise Expected(f"The process that {doing} took more than {_PATIENCE_S:.0f} s.") from exc
    try:
        return msgspec.json.decode(ended.stdout, type=kind)
    except msgspec.DecodeError as exc:
        lines = ended.stderr.decode(errors="replace").strip().splitlines()
        last = lines[-1][:_MOST_TOLD] if lines else f"status {ended.returncode}"
        raise Expected(f"The process that {doing} ended: {last}") from exc


def _remedy(error: str) -> str:
    if "No module named 'keras'" in error:
        return "Run this in the environment of the training, where Keras is."
    return ""
