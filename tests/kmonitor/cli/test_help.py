"""The help of every command: a verb first, an example, choices, and no type of Python."""

import re

import pytest

from kmonitor.cli.main import main
from tests.support.guide_code import all_commands

_VERBS = {
    *(
        "Ask",
        "Change",
        "Check",
        "Compare",
        "Connect",
        "Copy",
        "Estimate",
        "Forget",
        "Hand",
        "Keep",
    ),
    *(
        "Let",
        "List",
        "Measure",
        "Print",
        "Rename",
        "Revoke",
        "Run",
        "Send",
        "Set",
        "Show",
        "Start",
    ),
    *("Stop", "Unpin", "Watch", "Write"),
}
_TYPES = re.compile(r"\b(STR|INT|FLOAT|BOOL|CHOICE|NONE|Literal|Optional|tuple|None|False)\b")

_PATHS = [path for path, _ in all_commands()]


@pytest.fixture
def shown(
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """What `--help` of a command prints."""
    monkeypatch.setenv("COLUMNS", "100")
    assert main([*request.param, "--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("shown", _PATHS, ids=" ".join, indirect=True)
def test_help_begins_with_a_verb_and_has_one_example(shown: str) -> None:
    first, text = shown.split("\n\n", 2)[:2]

    assert first.startswith("Usage: kmonitor ")
    assert text.split()[0] in _VERBS
    assert shown.count("Example: kmonitor ") == 1
    assert "Examples:" not in shown


@pytest.mark.parametrize("shown", _PATHS, ids=" ".join, indirect=True)
def test_help_names_no_type_and_no_empty_default(shown: str) -> None:
    assert not _TYPES.search(shown)
    assert not re.search(r'default: (""|\(\))', shown)


def test_every_choice_is_written_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    for path, app in all_commands():
        if app.default_command is None:
            continue
        main([*path, "--help"])
        text = " ".join(
            capsys.readouterr().out.replace("\N{BOX DRAWINGS LIGHT VERTICAL}", " ").split()
        )
        for argument in app.assemble_argument_collection():
            if choices := argument.get_choices():
                assert "|".join(choices) in text or f"[choices: {', '.join(choices)}]" in text


def test_few_choices_stand_beside_their_option(capsys: pytest.CaptureFixture[str]) -> None:
    main(["export", "--help"])

    assert "csv|json|parquet|csvlogger" in capsys.readouterr().out
