"""The help of every command, read in a separate process.

cyclopts writes the line of a group in the list of commands over the group's own help, and a test
process has listed them before.
"""

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
from cyclopts import App

from kmonitor.cli.main import build_app, main

_ROOT = Path(__file__).parents[2]


class HelpPage(msgspec.Struct, frozen=True):
    """Help of one command.

    Attributes:
        path: Its name, and that of its group before it.
        text: As it is written.
        shown: Output of `--help` at 100 columns.
        choices: Choices of each option that has some.
    """

    path: tuple[str, ...]
    text: str
    shown: str
    choices: list[list[str]]


@cache
def help_pages() -> list[HelpPage]:
    """Pages of every command that is not hidden, and those below it."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.support.help_pages"],
        cwd=_ROOT,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
        capture_output=True,
        check=True,
    )
    return msgspec.json.decode(ran.stdout, type=list[HelpPage])


def _pages() -> Iterator[HelpPage]:
    for path, app in _commands():
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            main([*path, "--help"])
        arguments = app.assemble_argument_collection() if app.default_command else []
        choices = [list(found) for each in arguments if (found := each.get_choices())]
        yield HelpPage(path, app.help, shown.getvalue(), choices)


def _commands() -> Iterator[tuple[tuple[str, ...], App]]:
    for name in [name for name in build_app() if not name.startswith("-")]:
        app = build_app(name)[name]
        yield (name,), app
        for below in app:
            if below[0] != "-" and app[below].show:
                yield (name, below), app[below]


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(list(_pages())))
