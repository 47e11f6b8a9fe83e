"""Models described or traced by child processes, and the model that a command line names.

`model_source_of` reads a configuration and checks it before anything is built; `describe` and
`trace_model` build the model in a separate process, which may run the user's code.
"""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, TypeVar, cast

import msgspec

from kmonitor.base.errors import UserError
from kmonitor.memory.model_files.archive import (
    HOLDS_CODE,
    check_layer_count,
    damaged,
    json_object,
    read_archive,
    read_json,
    size_of,
    untrusted_items,
)
from kmonitor.memory.model_files.hdf5 import read_hdf5
from kmonitor_agent.wire.messages.model_layout import ModelLayout, OptimizerLayout
from kmonitor_agent.wire.messages.step_program import StepProgram


@dataclass(frozen=True, slots=True)
class ModelSource:
    """Source of a model; the fields are those of `kmonitor_agent.describing`.

    Attributes:
        config: Configuration as JSON, with checked classes; empty for a script.
        compile_config: Compile settings as JSON; empty if the model is not compiled.
        script: Path of a Python file.
        function: Function in the script that returns a model.
        module: Path of a Python file with custom classes.
        is_trusted: True if code in the configuration may run.
    """

    config: str = ""
    compile_config: str = ""
    script: str = ""
    function: str = ""
    module: str = ""
    is_trusted: bool = False


_KINDS = "a .keras, .h5 or .json file, or script.py:function"


def model_source_of(
    target: str,
    *,
    config: Path | None = None,
    custom: Path | None = None,
    allow_code: bool = False,
) -> ModelSource:
    """Return the source of the named model; classes are checked before anything is built.

    Args:
        target: A file, or `script.py:function`.
        config: A JSON file with the model's architecture, for files that contain only weights.
        custom: A Python file with custom classes, which will be run.
        allow_code: True if code in the file may run.

    Raises:
        UserError: There is no such file, it is damaged, or it would run code.
    """
    script, parted, function = target.rpartition(":")
    if parted and script.endswith(".py"):
        return ModelSource(script=str(_file(Path(script))), function=function)
    path = _file(Path(target))
    if path.suffix == ".py":
        raise UserError(f"{target} is a script: name the function in it that creates the model.",
                       f"For example: {target}:build_model")  # fmt: skip
    model, compiled, config_path = _read_config(path, config)
    if not allow_code:
        _require_trust(config_path, [model, compiled], custom)
    return ModelSource(
        config=json.dumps(model),
        compile_config=json.dumps(compiled) if compiled else "",
        module=str(_file(custom)) if custom else "",
        is_trusted=allow_code,
    )


def _read_config(path: Path, config: Path | None) -> tuple[dict[str, Any], dict[str, Any], Path]:
    """Configuration of the model, compile settings (may be empty), and the file of both.

    Compile settings of an old `.h5` file have another form, with an `optimizer_config`.

    Raises:
        UserError: The file is damaged, of another kind, or has only weights and `config` is None.
    """
    if path.suffix == ".json":
        return *_split(read_json(path)), path
    if path.suffix == ".keras":
        return *_split(read_archive(path).config), path
    if path.suffix in (".h5", ".hdf5"):
        attributes = read_hdf5(path).attributes
        if "model_config" in attributes:
            return *_of_h5(path, attributes), path
        if config is None:
            raise UserError(
                f"{path} contains only weights, not the architecture.",
                "Pass the architecture from model.to_json(): --config model.json",
            )
        return *_split(read_json(_file(config))), config
    raise UserError(f"{path} is not a recognized type of model file.", f"Pass {_KINDS}.")


def _file(path: Path) -> Path:
    if not path.exists():
        raise UserError(f"File not found: {path}.", f"Pass {_KINDS}.")
    size_of(path)
    return path.absolute()


def _split(config: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    compiled = config.get("compile_config")
    if not isinstance(config.get("class_name"), str):
        raise UserError("The file's configuration does not name a model class.")
    compile_config = cast("dict[str, Any]", compiled) if isinstance(compiled, dict) else {}
    if not compile_config.get("optimizer"):
        # `to_json` leaves no optimizer in it; Keras would take one of its own choice.
        compile_config = {}
    return {
        name: value for name, value in config.items() if name != "compile_config"
    }, compile_config


def _of_h5(path: Path, attributes: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        model = json_object(attributes["model_config"], "its model_config")
        training = json_object(attributes.get("training_config", "{}"), "its training_config")
    except ValueError as exc:
        raise damaged(path, str(exc)) from exc
    check_layer_count(path, model)
    return _split(model)[0], training if training.get("optimizer_config") else {}


def _require_trust(path: Path, configs: list[dict[str, Any]], custom: Path | None) -> None:
    untrusted = [part for config in configs for part in untrusted_items(config)]
    holding = [part for part in untrusted if part.endswith(HOLDS_CODE)]
    if holding or (untrusted and custom is None):
        raise UserError(
            (
                f"{path} uses classes that are not part of Keras:"
                f" {', '.join((holding or untrusted)[:5])}."
            ),
            "For custom classes, use --custom classes.py, which runs that file. Code inside the "
            "model file runs only with --allow-code; use it only if you trust its author.",
        )


class DescriptionCancelled(Exception):
    """The caller has cancelled the request."""


def never_cancelled() -> bool:
    """`is_cancelled` for callers that wait to the end: always False."""
    return False


_LAYOUT_CHILD: Final = "from kmonitor_agent.describing.layout_child import main; main()"


class _LayoutReply(msgspec.Struct, frozen=True):
    layouts: list[ModelLayout] = []
    scaled: list[tuple[float, ModelLayout]] = []
    error: str = ""


def describe(
    source: ModelSource,
    shapes: Sequence[Sequence[Sequence[int]]] = ((),),
    *,
    sequence: int = 0,
) -> list[ModelLayout]:
    """Build the model in a separate process and return descriptions.

    Args:
        shapes: For each description a shape for every input, without the batch; empty: the
            model's own.
        sequence: Length for open axes; 0: they stay open.

    Raises:
        UserError: The model cannot be built there, or does not take such inputs.
    """
    request = {
        "source": source,
        "shapes": shapes,
        "sequence": sequence,
    }
    return _layout_reply(request).layouts


def describe_scaled(
    source: ModelSource,
    scales: Sequence[float],
    is_cancelled: Callable[[], bool] = never_cancelled,
) -> list[tuple[float, ModelLayout]]:
    """Describe the unchanged model, at scale 1, and the model with larger and smaller inputs.

    Args:
        scales: Factors of lengths: sides of pictures, steps of sequences. For a length that the
            model leaves open, multiples of a usual one.
        is_cancelled: Called now and then; True cancels the request.

    Returns:
        Scales with layouts: scale 1 first, then those that the model accepts.

    Raises:
        UserError: The model cannot be built there.
        DescriptionCancelled: The caller cancelled the request.
    """
    own: list[Sequence[int]] = []
    request = {"source": source, "shapes": [own], "scales": scales}
    reply = _layout_reply(request, is_cancelled)
    return [(1.0, reply.layouts[0]), *reply.scaled]


def _layout_reply(
    request: object, is_cancelled: Callable[[], bool] = never_cancelled
) -> _LayoutReply:
    reply = answer_of(_LAYOUT_CHILD, request, _LayoutReply, "creates the model", is_cancelled)
    if reply.error:
        raise UserError(f"The model cannot be analyzed: {reply.error}.", remedy(reply.error))
    return reply


@dataclass(frozen=True, slots=True)
class TracedModel:
    """A model and its traced step.

    Attributes:
        layout: Layout of the unchanged model.
        program: Program of the training step; None if the step could not be traced.
        untraced: Reason why the step was not traced, as text; empty if it was.
    """

    layout: ModelLayout
    program: StepProgram | None
    untraced: str


def has_tensorflow() -> bool:
    """True if steps can be traced here: TensorFlow is installed, and is Keras' backend.

    Nothing is imported.
    """
    backend = os.environ.get("KERAS_BACKEND", "tensorflow")
    return backend == "tensorflow" and importlib.util.find_spec("tensorflow") is not None


_TRACE_CHILD: Final = "from kmonitor_agent.describing.trace_child import main; main()"


class _TraceReply(msgspec.Struct, frozen=True):
    layout: ModelLayout | None = None
    program: StepProgram | None = None
    untraced: str = ""
    error: str = ""


def trace_model(
    source: ModelSource,
    shape: Sequence[Sequence[int]] = (),
    *,
    sequence: int = 0,
    optimizer: OptimizerLayout | None = None,
    precision: str = "",
    is_cancelled: Callable[[], bool] = never_cancelled,
) -> TracedModel:
    """Build the model in a separate process, describe it, and trace its step.

    Args:
        shape: Shape for every input, without the batch; empty: the model's own.
        sequence: Length for open axes; 0: they stay open.
        optimizer: Optimizer to use; None: the model's own.
        precision: Dtype policy to use; empty: the model's own.
        is_cancelled: Called several times a second; True ends the process.

    Raises:
        UserError: The model cannot be built there, or does not take such inputs.
        DescriptionCancelled: The caller cancelled the request.
    """
    request = {
        "source": source,
        "shape": shape,
        "sequence": sequence,
        "optimizer": optimizer,
        "precision": precision,
    }
    reply = answer_of(_TRACE_CHILD, request, _TraceReply, "creates the model", is_cancelled)
    if reply.layout is None:
        raise UserError(f"The model cannot be analyzed: {reply.error}.", remedy(reply.error))
    return TracedModel(reply.layout, reply.program, reply.untraced)


_PATIENCE_S: Final = 600.0
_POLL_S: Final = 0.2
"""Pause between two calls of `is_cancelled`, seconds."""

_Answer = TypeVar("_Answer")


def answer_of(
    code: str,
    request: object,
    kind: type[_Answer],
    doing: str,
    is_cancelled: Callable[[], bool] = never_cancelled,
) -> _Answer:
    """Return the reply of a separate process, which may run the user's code.

    Args:
        code: Python code of the process, which reads JSON from standard input and writes JSON.
        request: Input of the process, to be encoded.
        kind: Type of the reply.
        doing: Activity of the process, for the error: "creates the model".
        is_cancelled: Called several times a second; True ends the process.

    Raises:
        UserError: The process ended without a reply, or took too long.
        DescriptionCancelled: The caller cancelled the request.
    """
    with (
        # A pipe could not be filled in parts: what waits for the answer is called again and again.
        tempfile.TemporaryFile() as question,
        _started(code, question, msgspec.json.encode(request)) as child,
    ):
        try:
            answer, stderr_output = _wait_for_output(child, is_cancelled)
        except BaseException:
            child.kill()
            child.wait()  # `Popen` waits for a moment only where Ctrl+C ended it
            raise
        if answer is None:
            child.kill()
            raise UserError(f"The process that {doing} took longer than {_PATIENCE_S:.0f} s.")
    try:
        return msgspec.json.decode(answer, type=kind)
    except msgspec.DecodeError as exc:
        raise UserError(
            f"The process that {doing} ended {_end(child.returncode, stderr_output)}"
        ) from exc


def child_environment() -> dict[str, str]:
    """Environment of a process that builds models, without GPUs, which a training may fill."""
    overrides = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    paths = os.pathsep.join([str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, **overrides, "PYTHONPATH": paths}


def _started(code: str, question: IO[bytes], request: bytes) -> "subprocess.Popen[bytes]":
    question.write(request)
    question.seek(0)
    return subprocess.Popen(  # noqa: S603 - our own code
        [sys.executable, "-P", "-c", code],
        stdin=question,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=child_environment(),
    )


def _wait_for_output(
    child: "subprocess.Popen[bytes]", is_cancelled: Callable[[], bool]
) -> tuple[bytes | None, bytes]:
    """Standard output and error of a process; None for the output if it does not end in time."""
    ends_s = time.monotonic() + _PATIENCE_S
    while time.monotonic() < ends_s:
        try:
            return child.communicate(timeout=_POLL_S)
        except subprocess.TimeoutExpired:
            if is_cancelled():
                raise DescriptionCancelled from None
    return None, b""


_LONGEST_DETAIL: Final = 400
_KILLED: Final = 9

_NOTE: Final = re.compile(r"[IW]\d{4} |\d{4}-\d\d-\d\d \S+ [IW] |WARNING: All log messages before")
"""Beginning of lines of TensorFlow's log that report no failure.

Source: absl's and TensorFlow's own prefixes, read off TensorFlow 2.21.
"""


def _end(status: int, stderr_output: bytes) -> str:
    """Text on the end of a process, with its last line that is no mere note of a framework."""
    how = f"with exit status {status}"
    if status < 0:
        try:
            how = f"after receiving {signal.Signals(-status).name}"
        except ValueError:
            how = f"after receiving signal {-status}"
    if status == -_KILLED:
        how += ", as happens when the system runs out of memory"
    lines = [each for each in stderr_output.decode(errors="replace").splitlines() if each.strip()]
    informative = [each for each in lines if not _NOTE.match(each)]
    detail = f": {informative[-1].strip()[:_LONGEST_DETAIL]}" if informative else ""
    return f"{how}{detail}"


_NO_CLASS: Final = re.compile(r"Could not locate \w+ '|Unknown \w+: '|does not define ")
"""Messages for a missing class. Source: Keras 3.15, and kmonitor's own."""


def remedy(error: str) -> str:
    """Remedy for a process' error; empty if none is known."""
    if "No module named 'keras'" in error:
        return "Run this in the Python environment used for training, where Keras is installed."
    if _NO_CLASS.search(error):
        return "For custom classes, use --custom classes.py, which runs that file."
    return ""
