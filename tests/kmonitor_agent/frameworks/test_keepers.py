"""The keeper of many objects of a script is named, and no one where there is none."""

from collections import deque
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from kmonitor_agent.frameworks.live_objects import container_name


class Thing:
    pass


class Owner:
    def __init__(self, made: Any) -> None:
        self.made = made


def by_key(things: tuple[Thing, ...]) -> Any:
    return dict(enumerate(things))


@pytest.mark.parametrize("kind", [list, set, deque, by_key])
def test_an_attribute_that_keeps_them_is_named(kind: Callable[[tuple[Thing, ...]], Any]):
    things = tuple([Thing() for _ in range(6)])
    owner = Owner(kind(things))

    assert container_name(things) == "made"
    assert len(owner.made) == 6


def test_a_variable_of_a_module_that_keeps_most_of_them_is_named():
    things = tuple([Thing() for _ in range(6)])
    script = ModuleType("script")
    vars(script).update(few=list(things[:2]), most=list(things[:4]))

    assert container_name(things) == "most"


def test_nobody_is_named_where_each_has_a_keeper_of_its_own():
    things = tuple([Thing() for _ in range(6)])
    owners = [Owner([thing]) for thing in things]

    assert container_name(things) == ""
    assert len(owners) == 6
