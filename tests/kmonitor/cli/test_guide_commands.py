"""Each command line that README and guide show is one that the command line takes."""

import json
import re

import pytest
from cyclopts import App
from cyclopts.exceptions import CycloptsError, MissingArgumentError

from kmonitor.cli.main import build_app
from tests.support.guide_code import (
    NO_CODE,
    NOT_RUN,
    OPTIONS_NAMED,
    blocks,
    command_lines,
    indented_lines,
    languages,
    names_only,
    pages,
    program_lines,
    shell_lines,
)
from tests.support.source_tree import ROOT

_STANDS_FOR = {"ACTION": "save", "ROLE": "viewer"}
"""Value for a word in capitals where only some words are taken."""


@pytest.mark.parametrize(
    ("page", "words"), command_lines(), ids=lambda part: part if isinstance(part, str) else "-"
)
def test_a_command_line_of_the_guide_is_taken(page: str, words: list[str]):
    given = [_STANDS_FOR.get(word, word) for word in words]
    called = given[0] if given and not given[0].startswith("-") else ""
    try:
        build_app(called).parse_args(given, print_error=False, exit_on_error=False)
    except MissingArgumentError as exc:
        if not names_only(words):
            pytest.fail(f"{page}: kmonitor {' '.join(words)}: {exc}")
    except CycloptsError as exc:
        pytest.fail(f"{page}: kmonitor {' '.join(words)}: {exc}")


@pytest.mark.parametrize(("page", "line"), shell_lines(), ids=lambda part: part or "-")
def test_a_shell_line_is_run_or_says_why_not(page: str, line: str):
    classes = (
        line.split(maxsplit=1)[0] == "kmonitor",
        line.startswith("python -m pip install "),
        line in NOT_RUN,
    )

    assert classes.count(True) == 1, f"{page}: {line}"


@pytest.mark.parametrize(("page", "line"), program_lines(), ids=lambda part: part)
def test_a_shell_line_in_a_sentence_says_why_it_is_not_run(page: str, line: str):
    assert line in NOT_RUN or line.startswith("python -m pip install "), f"{page}: {line}"


def test_lines_that_are_not_run_are_in_the_guide():
    assert set(NOT_RUN) <= {line for _, line in [*shell_lines(), *program_lines()]}


def test_each_target_of_make_that_the_guide_names_exists():
    lines = [line for _, line in [*shell_lines(), *program_lines()]]
    named = {found[1] for line in lines if (found := re.search(r"\bmake ([a-z-]+)", line))}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert {"run", "dist", "bench-peers"} <= named
    assert named <= set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))


def test_incomplete_lines_with_options_are_in_the_guide():
    assert set(OPTIONS_NAMED) <= {tuple(words) for _, words in command_lines()}


def test_a_line_with_an_option_must_be_complete():
    assert names_only(["checkpoints"])
    assert not names_only(["checkpoints", "--verify"])


def test_blocks_are_python_shell_or_say_why_nothing_runs_them():
    assert languages() == {"", "python", *NO_CODE}


def test_json_of_the_guide_is_json():
    shown = blocks("json")

    assert shown
    assert all(json.loads(each.code) for each in shown)


@pytest.mark.parametrize("name", sorted(pages()))
def test_code_of_the_guide_is_fenced(name: str):
    assert indented_lines(pages()[name]) == []


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
