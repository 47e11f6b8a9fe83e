"""The one table of keys, and the page that lists them."""

import itertools
import re

import pytest

from kmonitor.base.installation import resource_path
from kmonitor.ui.actions.action_panel import BUTTONS, action_variants
from kmonitor.ui.shortcuts import KEYS, Shortcut, shortcut_groups, shortcut_keys

LISTED = {keys for group in shortcut_groups() for line in group.lines for keys in line.keys}


@pytest.mark.parametrize("name", KEYS)
def test_the_page_lists_every_key(name: str):
    assert shortcut_keys(name) in LISTED


def test_no_two_keys_do_something_at_the_same_place():
    pairs = itertools.combinations(KEYS.items(), 2)

    assert [(a, b) for (a, one), (b, other) in pairs if one.meets(other)] == []


def test_a_key_of_the_whole_window_meets_those_of_its_pages_only():
    everywhere = Shortcut("Ctrl+E", "anywhere")

    assert everywhere.meets(Shortcut("ctrl+e", "history"))
    assert everywhere.meets(Shortcut("Ctrl+E", "anywhere"))
    assert not everywhere.meets(Shortcut("Ctrl+E", "guide"))
    assert not everywhere.meets(Shortcut("Ctrl+D", "history"))
    assert not Shortcut("Ctrl+E", "charts").meets(Shortcut("Ctrl+E", "history"))


def test_actions_and_their_ways_have_keys_of_the_table():
    known = {key.keys for key in KEYS.values() if key.scope == "charts"}

    assert {shortcut_keys(look[1]) for look in BUTTONS.values()} <= known
    assert {way.shortcut for name in ("save", "reload") for way in action_variants(name)} <= known


def test_each_group_says_what_its_keys_do():
    for group in shortcut_groups():
        assert group.title
        assert all(line.text and line.keys for line in group.lines)
        words = [line.text for line in group.lines]
        assert len(set(words)) == len(words)


def test_the_guide_lists_the_same_keys():
    page = resource_path("guide", "keyboard.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([^`]+)`", page))

    assert named == LISTED
