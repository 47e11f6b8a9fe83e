"""The project's own Python files for the tests of how it is built, parsed as they are requested.

No tree is kept: all together are a million objects, and every garbage collection of the tests that
come after, which do many, would look at each of them.
"""

import ast
import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One Python file.

    Attributes:
        name: Path from the project's root, "kmonitor/base/errors.py".
        text: Its text.
    """

    name: str
    text: str

    @property
    def tree(self) -> ast.Module:
        """Its syntax tree, parsed again."""
        return ast.parse(self.text, filename=self.name)

    def imported(self) -> Iterator[tuple[str, ast.stmt]]:
        """Every imported module with its statement, wherever in the file it stands."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((alias.name, node) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module, node

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Every function and method, nested ones too."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node

    def calls(self) -> Iterator[ast.Call]:
        """Every call."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                yield node


def source_files(*folders: str) -> list[SourceFile]:
    """Every Python file below `folders`, by name."""
    return [one for folder in folders for one in _below(folder)]


def product_files() -> list[SourceFile]:
    """Files that are installed at a user's: the app and the agent."""
    return source_files("kmonitor", "kmonitor_agent")


def top(module: str) -> str:
    """The package that a dotted name begins with."""
    return module.partition(".")[0]


@functools.cache
def _below(folder: str) -> tuple[SourceFile, ...]:
    return tuple(
        SourceFile(
            name=path.relative_to(ROOT).as_posix(),
            text=path.read_text(encoding="utf-8"),
        )
        for path in sorted(_python_files(ROOT / folder))
    )


def _python_files(folder: Path) -> Iterator[Path]:
    """Without those of hidden folders: other tools' environment is among the benches."""
    for here, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(here, name) for name in files if name.endswith(".py"))
