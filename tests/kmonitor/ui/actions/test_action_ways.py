"""Available ways to save and reload, and their texts."""

from typing import get_args

import pytest

from kmonitor.ui.actions.action_panel import action_variants, variant_arguments
from kmonitor_agent.wire.messages.commands import (
    CommandName,
    PlainArguments,
    ReloadArguments,
    SaveArguments,
)


@pytest.mark.parametrize(
    ("name", "key", "args"),
    [
        ("save", "", PlainArguments()),
        ("save", "export", SaveArguments(export=True)),
        ("reload", "", PlainArguments()),
        ("reload", "recreate", ReloadArguments(mode="recreate")),
        ("reload", "export", PlainArguments()),
        ("collect", "recreate", PlainArguments()),
    ],
)
def test_a_way_is_what_the_command_line_would_send(name: CommandName, key: str, args: object):
    assert variant_arguments(name, key) == args


def test_only_save_and_reload_offer_a_choice_and_the_usual_way_comes_first():
    choices = {
        name: action_variants(name) for name in get_args(CommandName) if action_variants(name)
    }

    assert set(choices) == {"save", "reload"}
    for ways in choices.values():
        assert [way.key for way in ways].index("") == 0
        assert len({way.shortcut for way in ways}) == len(ways)


def test_recreate_says_when_it_is_safe_and_what_happens_else():
    (told,) = (way.tooltip for way in action_variants("reload") if way.key == "recreate")

    for words in ("one optimizer", "no tf.function", "no distribution strategy", "says why"):
        assert words in told
