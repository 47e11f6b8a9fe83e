"""The code that README and guide show: blocks of Python, and command lines."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from kmonitor.base.installation import resource_path
from tests.support.help_pages import help_pages

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"`(kmonitor(?:\s[^`]*)?)`")
_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Shown:
    """A piece of code on a page.

    Attributes:
        page: Where, such as `zh_CN/folds.md`.
        number: Which of its blocks, from 0.
        code: What is shown.
    """

    page: str
    number: int
    code: str


def pages() -> dict[str, str]:
    """README and every page of the guide in each language: texts by name."""
    guide = resource_path("guide")
    found = {path.relative_to(guide).as_posix(): path for path in sorted(guide.rglob("*.md"))}
    found["README.md"] = _ROOT / "README.md"
    return {name: path.read_text(encoding="utf-8") for name, path in found.items()}


def python_blocks() -> list[Shown]:
    """Every block that is Python."""
    return [
        Shown(name, number, block[2])
        for name, text in pages().items()
        for number, block in enumerate(_BLOCK.finditer(text))
        if block[1] == "python"
    ]


def command_lines() -> list[tuple[str, list[str]]]:
    """Every `kmonitor ...` in a block or in a sentence: its page, and its words after the name.

    The help of a command is a page.
    """
    found: list[tuple[str, str]] = []
    for name, text in pages().items():
        lines = [line for block in _BLOCK.finditer(text) for line in block[2].splitlines()]
        found += [(name, line) for line in lines if line.startswith("kmonitor")]
        found += [(name, shown) for shown in _COMMAND.findall(_BLOCK.sub("", text))]
    for page in help_pages():
        name = f"{' '.join(page.path)} --help"
        found += [(name, shown) for shown in _COMMAND.findall(page.text)]
    return [(name, shlex.split(line, comments=True)[1:]) for name, line in found]


def install_lines() -> list[str]:
    """Every `python -m pip install ...` in a block or in a sentence, without its comment."""
    found = {
        line.partition("#")[0].strip()
        for text in pages().values()
        for line in re.findall(r"python -m pip install [^`\n]*", text)
    }
    return sorted(found)
