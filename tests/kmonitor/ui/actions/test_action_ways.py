"""Which ways there are to save and reload, and what is said of them."""

from typing import get_args

import pytest

from kmonitor.ui.actions.action_panel import arguments_of, ways_of
from kmonitor_agent.wire.messages.commands import (
    CommandName,
    NoArguments,
    ReloadArguments,
    SaveArguments,
)


@pytest.mark.parametrize(
    ("name", "key", "args"),
    [
        ("save", "", NoArguments()),
        ("save", "export", SaveArguments(export=True)),
        ("reload", "", NoArguments()),
        ("reload", "recreate", ReloadArguments(mode="recreate")),
        ("reload", "export", NoArguments()),
        ("collect", "recreate", NoArguments()),
    ],
)
def test_a_way_is_what_the_command_line_would_send(name: CommandName, key: str, args: object):
    assert arguments_of(name, key) == args


def test_only_save_and_reload_offer_a_choice_and_the_usual_way_comes_first():
    choices = {name: ways_of(name) for name in get_args(CommandName) if ways_of(name)}

    assert set(choices) == {"save", "reload"}
    for ways in choices.values():
        assert [way.key for way in ways].index("") == 0
        assert len({way.shortcut for way in ways}) == len(ways)


def test_recreate_says_when_it_is_safe_and_what_happens_else():
    (told,) = (way.tooltip for way in ways_of("reload") if way.key == "recreate")

    for words in ("one optimizer", "no tf.function", "no distribution strategy", "says why"):
        assert words in told
