"""The texts that the code gives to a translator, found in its syntax trees.

Qt's own lupdate reads `self.tr("...")` of one class after another; it knows nothing of a function
`tr` outside of classes, nor of tables whose texts are translated where they are shown.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from string import Formatter

from typing_extensions import override

PLAIN_CONTEXT = "presenters"
"""Context of `tr("...")` and `later("...")`, which belong to no class of Qt."""

_FIELD = re.compile(r"^[a-z_]+$")


@dataclass(frozen=True, slots=True, order=True)
class SourceText:
    """One text.

    Attributes:
        context: Class that says it, or `PLAIN_CONTEXT`.
        text: The English.
        file: Path from the root, with slashes.
    """

    context: str
    text: str
    file: str


@dataclass(frozen=True, slots=True)
class Fault:
    """A call that no translator can serve.

    Attributes:
        place: File and line.
        what: The fault.
    """

    place: str
    what: str


def find_texts(root: Path, folders: tuple[str, ...]) -> tuple[list[SourceText], list[Fault]]:
    """All texts below some folders, and the calls that no translator can serve.

    Args:
        root: Folder that paths are relative to.
        folders: Folders to search.
    """
    texts: list[SourceText] = []
    faults: list[Fault] = []
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            name = path.relative_to(root).as_posix()
            reader = _Reader(name)
            reader.visit(ast.parse(path.read_text(encoding="utf-8")))
            texts += reader.texts
            faults += reader.faults
    return texts, faults


def fields(text: str) -> list[str]:
    """Names of the fields in braces, in order of the alphabet.

    Raises:
        ValueError: A brace stands alone.
    """
    return sorted(name for _, name, _, _ in Formatter().parse(text) if name is not None)


class _Reader(ast.NodeVisitor):
    def __init__(self, file: str) -> None:
        self.texts: list[SourceText] = []
        self.faults: list[Fault] = []
        self._file = file
        self._classes: list[str] = []
        self._later: set[str] = set()

    @override
    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._classes.append(node.name)
        self.generic_visit(node)
        self._classes.pop()

    @override
    def visit_Call(self, node: ast.Call) -> None:
        match node.func:
            case ast.Name(id="tr"):
                self._take(node, PLAIN_CONTEXT, may_be_looked_up=True)
            case ast.Name(id="later"):
                self._take(node, PLAIN_CONTEXT)
            case ast.Attribute(attr="tr", value=ast.Name(id="self")) if self._classes:
                self._take(node, self._classes[-1])
            case _:
                pass
        self.generic_visit(node)

    def _take(self, node: ast.Call, context: str, *, may_be_looked_up: bool = False) -> None:
        if len(node.args) != 1 or node.keywords:
            self._complain(node, "takes one text and nothing else")
            return
        match node.args[0]:
            case ast.Constant(value=str(text)):
                self.texts.append(SourceText(context, text, self._file))
                for what in _wrong(text):
                    self._complain(node, what)
            case ast.JoinedStr() | ast.BinOp() | ast.Call() | ast.IfExp():
                self._complain(node, "is put together before it is translated")
            case _ if not may_be_looked_up:
                self._complain(node, "is no literal")
            case _:
                # A name or a place in a table: its texts are marked by `later`.
                pass

    def _complain(self, node: ast.Call, what: str) -> None:
        self.faults.append(Fault(f"{self._file}:{node.lineno}", what))


def _wrong(text: str) -> Iterator[str]:
    if not text.strip():
        yield "is empty"
    if "%n" in text:
        yield "counts with %n: say one and several apart, with {n}"
    try:
        names = fields(text)
    except ValueError:
        yield "has a brace of its own"
        return
    if not all(_FIELD.match(name) for name in names):
        yield "has a field without a name"
