"""Follows one value through the processes of a test: the modules that hold it on its way.

A module of ours passes the value if one of its frames holds it when the value goes into a queue, a
file, a socket, a store or a curve. `followed` gives the environment in which each process of
Python follows it, in each thread, and writes what it finds into one file. The value is a number
that the test knows, or an id: of that the modules count that are on the stack when it is made, and
all processes learn it then.
"""

import json
import os
import struct
import sys
import threading
from collections.abc import Iterable, Mapping
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


@dataclass(frozen=True, slots=True)
class Origin:
    """Origin of an id.

    Attributes:
        maker: The function that returns it.
        caller: Path below the checkout of the module that calls it.
    """

    maker: HandOver
    caller: str


def followed(folder: Path, value: float | Origin, hand_overs: list[HandOver]) -> dict[str, str]:
    """Environment of processes that follow a value.

    Args:
        folder: New folder for their files and findings.
        value: The number, or the origin of the id; nothing else should have it.
        hand_overs: Calls in which it is searched for.
    """
    folder.mkdir()
    start = "from tests.support.value_tracer import follow\n\nfollow()\n"
    (folder / "sitecustomize.py").write_text(start, encoding="ascii")
    plan: dict[str, Any] = {
        "folder": str(folder),
        "at": [[each.module, each.function] for each in hand_overs],
    }
    if isinstance(value, Origin):
        plan["maker"] = [value.maker.module, value.maker.function]
        plan["caller"] = value.caller
    else:
        plan["value"] = value
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
    """Tracer of one process; its threads share it."""

    def __init__(self, plan: Mapping[str, Any]) -> None:
        folder = Path(plan["folder"])
        self._file = folder / "found"
        self._id_file = folder / "id"
        self._value: float | str | None = plan.get("value")
        self._hand_overs = {(str(ROOT / module), function) for module, function in plan["at"]}
        module, function = plan.get("maker", ("", ""))
        self._maker = (str(ROOT / module), function)
        self._caller = str(ROOT / plan.get("caller", ""))
        self._found: set[tuple[str, str]] = set()

    def profile(self, frame: FrameType, event: str, returned: object) -> None:
        """See `sys.setprofile`."""
        place = (frame.f_code.co_filename, frame.f_code.co_qualname)
        if event == "return" and place == self._maker and isinstance(returned, str):
            self._be_made(frame, returned)
        if event != "call" or place not in self._hand_overs or not self._is_known():
            return
        sys.setprofile(None)
        try:
            if self._is_held_in(frame):
                self._write(place[1], filter(self._is_held_in, _stack(frame)))
        finally:
            sys.setprofile(self.profile)

    def _be_made(self, frame: FrameType, value: str) -> None:
        caller = frame.f_back
        if self._value is None and caller and caller.f_code.co_filename == self._caller:
            self._value = value
            self._write(self._maker[1], _stack(caller))
            self._id_file.write_text(value, encoding="ascii")

    def _is_known(self) -> bool:
        if self._value is None and self._id_file.exists():
            # Before anything that holds it can have come here.
            self._value = self._id_file.read_text(encoding="ascii") or None
        return self._value is not None

    def _write(self, function: str, frames: Iterable[FrameType]) -> None:
        paths = [Path(frame.f_code.co_filename).relative_to(ROOT) for frame in frames]
        new = {(function, str(path)) for path in paths} - self._found
        self._found |= new
        with self._file.open("a", encoding="utf-8") as out:
            out.writelines(f"{json.dumps(each)}\n" for each in sorted(new))

    def _is_held_in(self, frame: FrameType) -> bool:
        return any(self._holds(each, _DEPTH) for each in list(frame.f_locals.values()))

    def _holds(self, value: Any, depth: int) -> bool:
        kind = type(value)
        if kind in {float, str}:
            return value == self._value
        if kind in {bytes, bytearray, memoryview}:
            return any(packed in bytes(value) for packed in self._packed())
        if kind.__module__ == "numpy" and kind.__name__ == "ndarray":
            return value.dtype.kind == "f" and bool((value == self._value).any())
        if depth == 0:
            return False
        return any(self._holds(each, depth - 1) for each in _items(value, kind))

    def _packed(self) -> tuple[bytes, ...]:
        if isinstance(self._value, str):
            return (self._value.encode("ascii"),)
        return struct.pack(">d", self._value), struct.pack("<d", self._value)


def _stack(frame: FrameType | None) -> Iterable[FrameType]:
    """Frames of our packages, from the newest."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(_PACKAGES):
            yield frame
        frame = frame.f_back


def _items(value: Any, kind: type) -> list[Any]:
    if kind.__name__ in {"list", "tuple", "deque", "set", "frozenset"}:
        return list(value)[:_MOST_ITEMS]
    if kind is dict:
        return [*list(value)[:_MOST_ITEMS], *list(value.values())[:_MOST_ITEMS]]
    fields = getattr(kind, "__struct_fields__", None) or getattr(kind, "__dataclass_fields__", ())
    return [getattr(value, name, None) for name in fields]
