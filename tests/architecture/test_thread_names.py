"""Each thread of ours has a name, and a row in ARCHITECTURE.md or a reason here to have none."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import cast

import pytest
from typing_extensions import TypeIs

from tests.support.source_tree import ROOT, SourceFile, product_files

WITHOUT_A_ROW = {
    "kmonitor-deadline": "a timer that sets one event; cancelled by the block that began it",
    "kmonitor-demo-": "copies a demo process's output until it ends",
    "kmonitor-doctor": "checks one host, within the call that waits for it",
    "kmonitor-hub-says": "prints one line once the hub of `kmonitor hub run` answers",
    "kmonitor-leave": "ends a process that does not exit for a restart by itself",
    "kmonitor-look": "asks a disk that may hang, on behalf of a caller that waits for so long",
    "kmonitor-probe": "tries whether a number of threads can be had, within the call",
    "kmonitor-search": "asks one host for a run, within the call that waits for it",
}
"""Short threads that own nothing."""

_ROW = re.compile(r"^\| `(kmonitor-[a-z-]+)`", re.MULTILINE)
_MAKERS = {"Thread": "name", "ThreadPoolExecutor": "thread_name_prefix"}


def _names(file: SourceFile) -> Iterator[str]:
    """The name of each thread that a module makes; its line if it has none."""
    tree = file.tree
    constants = {
        name: ast.literal_eval(value)
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and isinstance(value := node.value, ast.Constant)
        if (name := ast.unparse(node.target))
    }
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Attribute(attr="name")], value=ast.Constant(str(name))):
                if name.startswith("kmonitor-"):
                    yield name
            case ast.Call(func=ast.Name(kind) | ast.Attribute(attr=kind)) if kind in _MAKERS:
                given = {keyword.arg: keyword.value for keyword in node.keywords}
                named = given.get(_MAKERS[kind]) or next(iter(node.args[1:]), None)
                yield _text(named, constants) or f"{file.name}:{node.lineno}"
            case _:
                pass
    yield from _unnamed_timers(tree, file.name)


def _unnamed_timers(tree: ast.Module, file: str) -> Iterator[str]:
    """The line of each timer that the next statement does not name: its call takes no name."""
    named: set[ast.Call] = set()
    for node in ast.walk(tree):
        for _, block in ast.iter_fields(node):
            if isinstance(block, list):
                named.update(_named_timers(cast("list[ast.AST]", block)))
    for node in ast.walk(tree):
        if _is_timer(node) and node not in named:
            yield f"{file}:{node.lineno}"


def _named_timers(block: list[ast.AST]) -> Iterator[ast.Call]:
    for statement, following in pairwise(block):
        match statement, following:
            case (
                ast.Assign(targets=[timer], value=ast.Call() as call),
                ast.Assign(
                    targets=[ast.Attribute(value=owner, attr="name")],
                    value=ast.Constant(str(name)),
                ),
            ) if ast.unparse(timer) == ast.unparse(owner) and name.startswith("kmonitor-"):
                yield call
            case _:
                pass


def _is_timer(node: ast.AST) -> TypeIs[ast.Call]:
    match node:
        case ast.Call(func=ast.Name("Timer") | ast.Attribute(attr="Timer")):
            return True
        case _:
            return False


def _text(node: ast.expr | None, constants: dict[str, object]) -> str:
    match node:
        case ast.Constant(str(text)) | ast.JoinedStr(values=[ast.Constant(str(text)), *_]):
            return text
        case ast.Name(name):
            return str(constants.get(name, ""))
        case _:
            return ""


def _named_threads() -> set[str]:
    return {name for file in product_files() for name in _names(file)}


def _rows() -> set[str]:
    return set(_ROW.findall((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")))


def test_each_thread_in_the_table_exists():
    assert len(_rows()) > 15
    assert _rows() - _named_threads() == set()


def test_each_thread_has_a_row_or_a_reason():
    assert _named_threads() - _rows() == set(WITHOUT_A_ROW)


@pytest.mark.parametrize(
    ("following", "names"),
    [
        ('timer.name = "kmonitor-deadline"', ["kmonitor-deadline"]),
        ("timer.start()", ["a.py:2"]),
        ('timer.name = "deadline"', ["a.py:2"]),
        ('other.name = "kmonitor-deadline"', ["kmonitor-deadline", "a.py:2"]),
    ],
)
def test_timer_without_a_name_is_found(following: str, names: list[str]):
    text = f"def wait():\n    timer = threading.Timer(1.0, print)\n    {following}\n"

    assert list(_names(SourceFile("a.py", text))) == names
