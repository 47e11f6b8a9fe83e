"""Every module says what it is for, and every field on the wire says what it means."""

import ast
import inspect
import io
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

import msgspec
import pytest

from kmonitor_agent.wire.messages import (
    access_messages,
    action_events,
    agent_messages,
    commands,
    lifecycle_events,
    readings,
    view_messages,
)
from kmonitor_agent.wire.messages import (
    view_messages as messages_view_messages,
)
from tests.support.source_tree import ROOT, SourceFile, source_files

_MODULE_PATH = re.compile(r"`([a-z_0-9/]+\.py)`")
_ATTRIBUTE = re.compile(r"^    (\w+): ", re.MULTILINE)
_CLAUSE = re.compile(r"(?:\A|[.:;)\"]\s+)((?:What|Of|Whose|Who|Whether)\b[^\n]*)")
"""A sentence that begins with a noun clause, where a noun or a verb says the same."""

FOLDERS = ("kmonitor", "kmonitor_agent", "packaging", "tests")

MODULES = (
    access_messages,
    action_events,
    agent_messages,
    commands,
    lifecycle_events,
    readings,
    messages_view_messages,
    view_messages,
)

STRUCTS = sorted(
    {
        found
        for module in (
            access_messages,
            action_events,
            agent_messages,
            commands,
            lifecycle_events,
            readings,
            messages_view_messages,
            view_messages,
        )
        for found in vars(module).values()
        if inspect.isclass(found) and issubclass(found, msgspec.Struct)
    },
    key=lambda one: one.__name__,
)


@pytest.mark.parametrize("folder", ["kmonitor", "kmonitor_agent", "packaging", "tests/support"])
def test_every_module_says_what_it_is_for(folder: str):
    silent = [
        file.name
        for file in source_files(folder)
        if file.text.strip() and not ast.get_docstring(file.tree)
    ]

    assert not silent


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_docstring_begins_with_a_noun_clause(folder: str):
    assert _clauses(folder, lambda file: _docstrings(file.tree)) == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_comment_begins_with_a_noun_clause(folder: str):
    assert _clauses(folder, lambda file: _comments(file.text)) == []


def _clauses(folder: str, texts_of: Callable[[SourceFile], Iterable[str]]) -> list[str]:
    return [
        f"{file.name}: {clause}"
        for file in source_files(folder)
        for text in texts_of(file)
        for clause in _CLAUSE.findall(text)
    ]


def _docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield text
            case _:
                pass


def _comments(source: str) -> Iterator[str]:
    """Comments without their marks; those on consecutive lines are one text."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [each for each in tokens if each.type == tokenize.COMMENT]
    by_block = groupby(enumerate(comments), key=lambda pair: pair[1].start[0] - pair[0])
    for _, block in by_block:
        yield "\n".join(each.string.lstrip("#: ") for _, each in block)


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda one: one.__name__)
def test_every_field_on_the_wire_is_documented(struct: type[msgspec.Struct]):
    documented = {
        name
        for kind in struct.__mro__
        if isinstance(kind.__doc__, str)
        for name in _ATTRIBUTE.findall(inspect.cleandoc(kind.__doc__))
    }

    assert documented >= set(struct.__struct_fields__)


def test_every_folder_at_the_top_is_explained():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")

    for folder in (*FOLDERS, "resources"):
        assert f"`{folder}/`" in text


PAGES = (
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "tests/support/README.md",
)


@pytest.mark.parametrize("page", PAGES)
def test_every_module_that_a_page_names_exists(page: str):
    named = set(_MODULE_PATH.findall((ROOT / page).read_text(encoding="utf-8")))
    paths = [
        file.name for file in source_files("kmonitor", "kmonitor_agent", "tests", "packaging")
    ]

    assert {
        name for name in named if not any(f"/{path}".endswith(f"/{name}") for path in paths)
    } == set()


def test_every_part_that_the_page_on_parts_of_tests_names_is_in_its_module():
    page = (ROOT / "tests/support/README.md").read_text(encoding="utf-8")
    named = re.findall(r"((?:`\w+`(?:, )?)+) of `(\w+\.py)`", page)
    sources = {name: (ROOT / "tests/support" / name).read_text("utf-8") for _, name in named}

    assert len(named) > 15
    assert [
        (part, name)
        for parts, name in named
        for part in re.findall(r"`(\w+)`", parts)
        if not re.search(rf"^(?:def|class) {part}\b", sources[name], re.MULTILINE)
    ] == []


def test_every_test_that_the_fault_matrix_names_exists():
    file = ROOT / "tests/faults/conftest.py"
    matrix = [row for row in file.read_text(encoding="utf-8").splitlines() if row.startswith("| ")]
    named = {
        name
        for row in matrix[1:]
        for name in re.findall(r"[\w/]*\b(?:test_|bench_)\w+|kmonitor\w*(?:/\w+)+", row)
    }

    assert len(named) > 20
    assert [
        name
        for name in sorted(named)
        if not any((folder / name).with_suffix(s).exists()
                   for folder in (file.parent, file.parents[1]) for s in (".py", ""))
    ] == []  # fmt: skip
