"""The help of every command: a verb first, an example, choices, and no type of Python."""

import re

import pytest

from tests.support.help_pages import HelpPage, help_pages

_VERBS = {
    *(
        "Ask",
        "Authorize",
        "Change",
        "Check",
        "Compare",
        "Connect",
        "Copy",
        "Estimate",
        "Export",
        "Hand",
        "Keep",
    ),
    *(
        "Let",
        "List",
        "Measure",
        "Print",
        "Remove",
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

pytestmark = pytest.mark.parametrize("page", help_pages(), ids=lambda page: " ".join(page.path))


def test_help_begins_with_a_verb_and_has_one_example(page: HelpPage) -> None:
    usage, text = page.shown.split("\n\n", 2)[:2]

    assert usage.startswith("Usage: kmonitor ")
    assert text.split()[0] in _VERBS
    assert page.shown.count("Example: kmonitor ") == 1
    assert "Examples:" not in page.shown


def test_help_names_no_type_and_no_empty_default(page: HelpPage) -> None:
    assert not _TYPES.search(page.shown)
    assert not re.search(r'default: (""|\(\))', page.shown)


def test_help_writes_every_choice_out(page: HelpPage) -> None:
    text = " ".join(page.shown.replace("\N{BOX DRAWINGS LIGHT VERTICAL}", " ").split())

    for choices in page.choices:
        assert "|".join(choices) in text or f"[choices: {', '.join(choices)}]" in text
    if page.path == ("export",):
        assert "csv|json|parquet|csvlogger" in text
