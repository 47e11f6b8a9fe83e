"""Each command line that README and guide show is one that the command line takes."""

import re

import pytest
from cyclopts import App
from cyclopts.exceptions import CycloptsError, MissingArgumentError

from kmonitor.cli.main import build_app
from tests.support.guide_code import command_lines, pages

_STANDS_FOR = {"ACTION": "save", "ROLE": "viewer"}
"""What a word in capitals stands for where only some words are taken."""


@pytest.mark.parametrize(
    ("page", "words"), command_lines(), ids=lambda part: part if isinstance(part, str) else "-"
)
def test_a_command_line_of_the_guide_is_taken(page: str, words: list[str]):
    given = [_STANDS_FOR.get(word, word) for word in words]
    called = given[0] if given and not given[0].startswith("-") else ""
    try:
        build_app(called).parse_args(given, print_error=False, exit_on_error=False)
    except MissingArgumentError:
        pass  # A sentence names the command, and leaves the rest to the reader.
    except CycloptsError as exc:
        pytest.fail(f"{page}: kmonitor {' '.join(words)}: {exc}")


def test_every_option_is_in_the_guide():
    text = "".join(text for name, text in pages().items() if "/" not in name)
    shown = set(re.findall(r"--[a-z][a-z-]+", text))

    absent = {
        f"kmonitor {' '.join(path)} {option}"
        for path, option in _options(build_app())
        if option not in shown
    }

    assert absent == set()


def _options(app: App, path: tuple[str, ...] = ()) -> set[tuple[tuple[str, ...], str]]:
    """Every long option of a command and of those below it, without what turns it off."""
    found: set[tuple[tuple[str, ...], str]] = set()
    if app.default_command is not None:
        for argument in app.assemble_argument_collection(parse_docstring=False):
            names = [name for name in argument.names if name.startswith("--")]
            found |= {(path, name) for name in names[:1]}
    for name in app:
        if not name.startswith("-"):
            found |= _options(app[name], (*path, name))
    return found
