"""Findings of `kmonitor doctor` that are not good, as its code says them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.source_tree import ROOT


@dataclass(frozen=True, slots=True)
class DoctorMessage:
    """A finding that is a note or bad.

    Attributes:
        subject: The subject examined; if it contains a name, the part before the name.
        words: The longest piece of the text that is the same each time; empty where another
            part's message is passed on.
    """

    subject: str
    words: str


def doctor_messages() -> set[DoctorMessage]:
    """All that the code of the command line can find."""
    files = sorted((ROOT / "kmonitor" / "cli").rglob("*.py"))
    return {message for file in files for message in _said_in(file)}


def _said_in(file: Path) -> Iterator[DoctorMessage]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for call in ast.walk(function):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Finding":
                subject, state, found = call.args[:3]
                if not (isinstance(state, ast.Constant) and state.value == "ok"):
                    subjects = list(_texts(subject, function))
                    words = [max(one, key=len) for one in _texts(found, function)]
                    for one in subjects:
                        yield from (
                            DoctorMessage(one[0].strip(), w.strip(" :,;()")) for w in words
                        )


def _texts(node: ast.expr, function: ast.FunctionDef) -> Iterator[list[str]]:
    """The fixed pieces of each text that an expression may be."""
    match node:
        case ast.Constant(value=str(text)):
            yield [text]
        case ast.JoinedStr(values=parts):
            yield [str(part.value) for part in parts if isinstance(part, ast.Constant)] or [""]
        case ast.Name(id=name):
            given = [
                one.value
                for one in ast.walk(function)
                if isinstance(one, ast.Assign)
                and one.lineno < node.lineno
                and ast.unparse(one.targets[0]) == name
            ]
            if not given:
                yield [""]
            for value in given:
                yield from _texts(value, function)
        case _:
            yield [""]
