# pyright: basic
"""Child process that loads a model in one way and measures its memory and time."""

import ctypes
import gc
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import psutil

from kmonitor_agent.describing.child import answer_request
from kmonitor_agent.describing.model_source import (
    ModelOrigin,
    construct_model,
    load_custom_classes,
)

_HIGHEST = "VmHWM:"
_KIB = 1024


class LoadRequest(msgspec.Struct, frozen=True):
    """Request to load a model in one way.

    Attributes:
        file: File of the model.
        mode: "compiled", "uncompiled", "weights" (architecture, then weights), "recompiled" (the
            same with the optimizer in between) or "built" (the architecture alone).
        source: Origin of the architecture, for the last three modes; its module is run first in
            any mode.
    """

    file: str
    mode: str
    source: ModelOrigin


class LoadReply(msgspec.Struct, frozen=True):
    """Memory and time of a load.

    Attributes:
        peak_bytes: Highest resident set above the one before; with a framework imported.
        resident_bytes: Part of `peak_bytes` that stays resident after the load.
        seconds: Duration of the load, seconds.
        optimizer: State of the optimizer after the load: "whole", "without state" or "lost".
        steps: Steps that the optimizer has counted; None without an optimizer.
        error: Error text; empty if there was no error.
    """

    peak_bytes: int = 0
    resident_bytes: int = 0
    seconds: float = 0.0
    optimizer: str = "lost"
    steps: int | None = None
    error: str = ""


def main() -> None:
    """Read `LoadRequest` from standard input, write `LoadReply` to standard output."""
    answer_request(LoadRequest, _measured, lambda error: LoadReply(error=error))


def _measured(request: LoadRequest) -> LoadReply:
    import keras

    if request.mode in ("compiled", "uncompiled"):
        load_custom_classes(request.source)
    if request.source.is_trusted:
        keras.config.enable_unsafe_deserialization()
    keras.ops.ones((1,)) + 1  # the backend makes its device, which is no cost of a load
    before = _settled()
    _forget_highest()
    began_s = time.perf_counter()
    model = _load(keras, request)
    seconds = time.perf_counter() - began_s
    highest = _highest()
    after = _settled()
    state, steps = _optimizer(model, _stored_steps(Path(request.file)))
    return LoadReply(
        peak_bytes=max(0, max(highest, after) - before),
        resident_bytes=max(0, after - before),
        seconds=seconds,
        optimizer=state,
        steps=steps,
    )


def _load(keras: Any, request: LoadRequest) -> Any:
    if request.mode in ("compiled", "uncompiled"):
        safe = not request.source.is_trusted
        return keras.saving.load_model(
            request.file, compile=request.mode == "compiled", safe_mode=safe
        )
    source = request.source
    if request.mode != "recompiled":
        source = msgspec.structs.replace(source, compile_config="")
    model = construct_model(source)
    if request.mode != "built":
        model.load_weights(request.file)
    return model


def _settled() -> int:
    """Resident set after garbage and the allocator's free pages were released, bytes."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
    return int(psutil.Process().memory_info().rss)


def _forget_highest() -> None:
    if sys.platform == "linux":
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _highest() -> int:
    """Peak resident set since `_forget_highest`, bytes.

    On other systems than Linux the current one.
    """
    if sys.platform == "linux":
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith(_HIGHEST):
                return int(line.split()[1]) * _KIB
    return int(psutil.Process().memory_info().rss)


def _optimizer(model: Any, stored: int | None) -> tuple[str, int | None]:
    """State of the optimizer ("whole", "without state", "lost"), and its number of steps."""
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        return "lost", None
    steps = int(optimizer.iterations.numpy() if hasattr(optimizer.iterations, "numpy")
                else optimizer.iterations)  # fmt: skip
    is_whole = bool(optimizer.built) and stored is not None and steps == stored
    return ("whole" if is_whole else "without state"), steps


def _stored_steps(path: Path) -> int | None:
    """Steps that the optimizer in the file had counted; None if the file has no optimizer."""
    import h5py  # noqa: PLC0415 - comes with Keras

    if path.suffix == ".keras":
        with zipfile.ZipFile(path) as archive, archive.open("model.weights.h5") as member:
            return _steps_in(h5py, member)
    return _steps_in(h5py, path)


def _steps_in(h5py: Any, file: Any) -> int | None:
    with h5py.File(file, "r") as opened:
        if "optimizer/vars/0" in opened:
            return int(opened["optimizer/vars/0"][()])
        for group in opened.get("optimizer_weights", {}).values():
            if "iteration" in group:
                return int(group["iteration"][()])
    return None
