"""Follows one number through the processes of a test: the modules that hold it on its way.

A module of ours passes the value if one of its frames holds it when the value goes into a queue, a
file, a socket, a store or a curve. `followed` gives the environment in which each process of
Python follows it, in each thread, and writes what it finds into one file.
"""

import json
import os
import struct
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
_VARIABLE: Final = "KMONITOR_TEST_FOLLOWED"
_PACKAGES: Final = tuple(f"{ROOT / name}{os.sep}" for name in ("kmonitor", "kmonitor_agent"))
_DEPTH: Final = 6
_MOST_ITEMS: Final = 500


@dataclass(frozen=True, slots=True)
class HandOver:
    """Function that a value is handed to.

    Attributes:
        module: Path below the checkout.
        function: Its qualified name.
    """

    module: str
    function: str


def followed(folder: Path, value: float, hand_overs: list[HandOver]) -> dict[str, str]:
    """Environment of processes that follow a value.

    Args:
        folder: New folder for what they need and find.
        value: The number; nothing else should have it.
        hand_overs: Where it is looked for, once in each process.
    """
    folder.mkdir()
    start = "from tests.support.value_tracer import follow\n\nfollow()\n"
    (folder / "sitecustomize.py").write_text(start, encoding="ascii")
    plan = {
        "file": str(folder / "found"),
        "value": value,
        "at": [[each.module, each.function] for each in hand_overs],
    }
    return {_VARIABLE: json.dumps(plan), "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}


def modules_at(folder: Path) -> dict[str, list[str]]:
    """Modules that held the value, by the function it was handed to."""
    found: dict[str, list[str]] = {}
    for line in (folder / "found").read_text(encoding="utf-8").splitlines():
        function, module = json.loads(line)
        found.setdefault(function, []).append(module)
    return found


def follow() -> None:
    """Follow the value in this process, if its environment says so."""
    if _VARIABLE in os.environ:
        tracer = _Tracer(json.loads(os.environ[_VARIABLE]))
        threading.setprofile(tracer.profile)
        sys.setprofile(tracer.profile)


class _Tracer:
    """Of one process; its threads share it."""

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self._file = Path(plan["file"])
        self._value: float = plan["value"]
        self._packed = struct.pack(">d", self._value), struct.pack("<d", self._value)
        self._left = {(str(ROOT / module), function) for module, function in plan["at"]}

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        """See `sys.setprofile`."""
        place = (frame.f_code.co_filename, frame.f_code.co_qualname)
        if event != "call" or place not in self._left:
            return
        sys.setprofile(None)
        try:
            if self._is_held_in(frame):
                self._left.discard(place)
                self._write(place[1], frame)
        finally:
            sys.setprofile(self.profile)

    def _write(self, function: str, frame: FrameType | None) -> None:
        modules: dict[str, None] = {}
        while frame is not None:
            path = frame.f_code.co_filename
            if path.startswith(_PACKAGES) and self._is_held_in(frame):
                modules[str(Path(path).relative_to(ROOT))] = None
            frame = frame.f_back
        with self._file.open("a", encoding="utf-8") as out:
            out.writelines(f"{json.dumps([function, each])}\n" for each in modules)

    def _is_held_in(self, frame: FrameType) -> bool:
        return any(self._holds(each, _DEPTH) for each in list(frame.f_locals.values()))

    def _holds(self, value: Any, depth: int) -> bool:
        kind = type(value)
        if kind is float:
            return value == self._value
        if kind in {bytes, bytearray, memoryview}:
            return any(packed in bytes(value) for packed in self._packed)
        if kind.__module__ == "numpy" and kind.__name__ == "ndarray":
            return value.dtype.kind == "f" and bool((value == self._value).any())
        if depth == 0:
            return False
        return any(self._holds(each, depth - 1) for each in _items(value, kind))


def _items(value: Any, kind: type) -> list[Any]:
    if kind.__name__ in {"list", "tuple", "deque"}:
        return list(value)[:_MOST_ITEMS]
    if kind is dict:
        return list(value.values())[:_MOST_ITEMS]
    fields = getattr(kind, "__struct_fields__", None) or getattr(kind, "__dataclass_fields__", ())
    return [getattr(value, name, None) for name in fields]
