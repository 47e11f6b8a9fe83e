"""Every text that a user can read, in one table, for a reviewer who reads them in one go.

Translated texts are marked in the code (`tr`, `later`). The others, of command line, agent and
hub, are not: a string counts as a text when it has two words and is none of what programs read (a
docstring, a pattern, SQL, a name). Help of the command line is the docstrings of its commands.
"""

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

from typing_extensions import override

FOLDERS: Final = ("kmonitor", "kmonitor_agent")

_HEAD: Final = "file\ttext"
_TWO_WORDS: Final = re.compile(
    r"[A-Za-z]{2,}(?:'s)?[,;:.]? +(?:[a-z]{2,}|\"?\{|\([A-Za-z])|^\S.*\}[,;:.]? [a-z]{2,}"
    r"|[A-Z][a-z]+\.$|\ba [A-Za-z]{2,}|\b(?:the|or) \w{2,}|[a-z]{2,} \+ [a-z]{2,}|\b[Ss]ee ~/"
    r"|^[A-Z]{2,},?(?: \+?[A-Z0-9]+,?){1,3}$"  # heads of tables
)
_SQL: Final = re.compile(
    r"^\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|PRAGMA|BEGIN|ATTACH|WITH|ORDER|WHERE"
    r"|FROM(?!,)|AND|COPY|SET|VALUES|LIMIT|LEFT|JOIN|ON CONFLICT|TEXT|INTEGER|BLOB|bigint|CASE)\b"
)
# An option, an argument in quotes, or a colon after a semicolon is no sign of code: messages
# begin with `--fail-if`, advise `hub="off"`, and end with "; run: chmod 700 {path}".
_CODE: Final = re.compile(
    r"\{[a-z-]+:|^[a-z-]+: [^;]+;(?:.*;)?$|^text/|^\s*[<@#]|\\[sdw]|^(?:import|from) |\(\?|<[a-z/]"
)
_QUIET_CALLS: Final = frozenset(
    {"compile", "execute", "executemany", "debug", "info", "run", "Popen", "setStyleSheet"}
    | {"setObjectName", "match", "fullmatch", "search", "sub", "namedtuple", "TypeVar", "NewType"}
    | {"AssertionError", "cast", "getLogger", "strftime", "split", "startswith", "endswith"}
)


def user_texts(root: Path, folders: Sequence[str] = FOLDERS) -> dict[str, str]:
    """Each text once, in the order of files and lines, with the first file that has it."""
    commands = _commands(root)
    found: dict[str, str] = {}
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            name = path.relative_to(root).as_posix()
            reader = _Reader(commands.get(name, frozenset()))
            reader.visit(ast.parse(path.read_text(encoding="utf-8")))
            for text in reader.texts:
                found.setdefault(text, name)
    return found


def table_text(texts: dict[str, str]) -> str:
    """The table as a file: a row a text, sorted by file; a text's line ends are escaped."""
    rows = sorted(((file, text) for text, file in texts.items()), key=lambda row: row[0])
    lines = [f"{file}\t{_escaped(text)}" for file, text in rows]
    return "\n".join([_HEAD, *lines, ""])


class _Reader(ast.NodeVisitor):
    """Collects the texts of one module."""

    def __init__(self, commands: Collection[str]) -> None:
        self.texts: list[str] = []
        self._commands = commands

    @override
    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name in self._commands or any(
            "app." in ast.unparse(d) for d in node.decorator_list
        ):
            self.texts += _help(ast.get_docstring(node) or "")
        self.generic_visit(node)

    @override
    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    @override
    def visit_Call(self, node: ast.Call) -> None:
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else ""
        name = called.id if isinstance(called, ast.Name) else name
        match name, node.args:
            case "tr" | "later", [ast.Constant(value=str(text))]:
                self.texts.append(text)
            case "record", [ast.Constant(), *others]:  # a fault: a code and what happened
                self.visit(called)
                for other in (*others, *(keyword.value for keyword in node.keywords)):
                    self.visit(other)
            case _ if name not in _QUIET_CALLS:
                self.generic_visit(node)
            case _:
                self.visit(called)
                for keyword in node.keywords:
                    self.visit(keyword)

    @override
    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self._take(node.value)

    @override
    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        parts: list[str] = []
        for value in node.values:
            if isinstance(value, ast.Constant):
                parts.append(str(value.value))
            elif isinstance(value, ast.FormattedValue):
                parts.append("{" + _field(value.value) + "}")
                self.visit(value.value)
        self._take("".join(parts))

    def _take(self, text: str) -> None:
        if _TWO_WORDS.search(text) and not _SQL.search(text) and not _CODE.search(text):
            self.texts.append(text)


def _field(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.strip("_")
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return name.strip("_")
        case _:
            return "..."


def _help(docstring: str) -> Iterator[str]:
    """Paragraphs of a command's help, and one text for each argument."""
    body, _, arguments = docstring.partition("\n\nArgs:\n")
    arguments = arguments.partition("\n\nRaises:")[0].partition("\n\nReturns:")[0]
    body = body.partition("\n\nRaises:")[0].partition("\n\nReturns:")[0]
    for paragraph in body.split("\n\n"):
        yield " ".join(paragraph.split())
    for entry in re.split(r"\n(?=    \w+: )", arguments):
        if entry.strip():
            yield " ".join(entry.split())


def _commands(root: Path) -> dict[str, set[str]]:
    """By module: functions that the command line calls, as its tables name them."""
    files = sorted((root / "kmonitor" / "cli").rglob("*.py"))
    texts = "\n".join(path.read_text(encoding="utf-8") for path in files)
    found: dict[str, set[str]] = {}
    for module, name in re.findall(r'"(kmonitor\.cli\.[\w.]+):(\w+)"', texts):
        found.setdefault(f"{module.replace('.', '/')}.py", set()).add(name)
    return found


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")
