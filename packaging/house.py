"""Prints how large the code is and how it is cut: a report for `make house`, no gate.

- *code lines*: lines of `kmonitor` and `kmonitor_agent` (and of `tests`) with a token that is no
  comment and no docstring.
- *tokens*: of those lines, as Python's tokenizer counts them, without line ends and indents.
- *modules*: files of the product but `__init__.py`. *Largest folder*: most modules side by side.
- *one importer*: share of modules that exactly one other module of the product imports.
- *class names used twice*: public classes at module level whose name two modules have.
- *paired assignments*: share of assignments of the form `a, b = x, y`.
- *old dialect*: words of `house_words.txt` in names, comments and texts of the product.

Standard library only.
"""

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("kmonitor", "kmonitor_agent")
WORDS = Path(__file__).with_name("house_words.txt")

_SKIPPED = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip


def main() -> int:
    """Print the report; the exit status is always 0."""
    product = {path: path.read_text(encoding="utf-8") for path in _files(*PRODUCT)}
    trees = {path: ast.parse(text) for path, text in product.items()}
    lines, tokens = _code(product.values())
    modules = [path for path in product if path.name != "__init__.py"]
    folder, n_in_folder = Counter(path.parent for path in modules).most_common(1)[0]
    importers = _importers(trees)
    alone = sum(len(importers[_dotted(path)]) == 1 for path in modules)
    twice = _class_names_used_twice(trees)
    rows = [
        ("product code lines", f"{lines}"),
        ("product tokens", f"{tokens}"),
        (
            "test code lines",
            f"{_code(path.read_text(encoding='utf-8') for path in _files('tests'))[0]}",
        ),
        ("modules", f"{len(modules)}"),
        ("largest folder", f"{n_in_folder} ({folder.relative_to(ROOT)})"),
        ("modules with one importer", f"{alone / len(modules):.0%}"),
        ("class names used twice", f"{len(twice)} {' '.join(twice)}".rstrip()),
        ("paired assignments", f"{_paired(trees.values()):.1%}"),
        ("old dialect", f"{sum(len(_dialect(text)) for text in product.values())}"),
    ]
    for name, value in rows:
        print(f"{name:28} {value}")
    return 0


def _files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def _code(texts: Iterable[str]) -> tuple[int, int]:
    n_lines = n_tokens = 0
    for text in texts:
        docstrings = _docstring_lines(ast.parse(text))
        lines: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in _SKIPPED or token.start[0] in docstrings:
                continue
            n_tokens += 1
            lines.update(range(token.start[0], token.end[0] + 1))
        n_lines += len(lines)
    return n_lines, n_tokens


def _docstring_lines(tree: ast.Module) -> set[int]:
    """Lines of statements that are only a text: docstrings, also those below an attribute."""
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def _dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _importers(trees: dict[Path, ast.Module]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {_dotted(path): set() for path in trees}
    for path, tree in trees.items():
        for name in _imported(tree):
            if name in found and name != _dotted(path):
                found[name].add(_dotted(path))
    return found


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _class_names_used_twice(trees: dict[Path, ast.Module]) -> list[str]:
    names = Counter(
        node.name
        for tree in trees.values()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return sorted(name for name, count in names.items() if count > 1)


def _paired(trees: Iterable[ast.Module]) -> float:
    n_all = n_paired = 0
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                n_all += 1
                n_paired += isinstance(node.value, ast.Tuple) and any(
                    isinstance(target, ast.Tuple) for target in node.targets
                )
    return n_paired / n_all


def _dialect(text: str) -> list[str]:
    patterns = [line for line in WORDS.read_text(encoding="utf-8").splitlines() if line]
    return re.findall("|".join(patterns), text)


if __name__ == "__main__":
    sys.exit(main())
