"""The guide's list of arguments is the callback's own: each one, in order, with its default."""

import ast
import inspect

import pytest

from kmonitor_agent import MonitorCallback
from tests.support.guide_code import Shown, python_blocks

_LISTS = [shown for shown in python_blocks() if "run_name=None" in shown.code]


def _defaults() -> dict[str, object]:
    parameters = inspect.signature(MonitorCallback.__init__).parameters.values()
    return {one.name: one.default for one in parameters if one.default is not one.empty}


def test_each_language_has_the_list():
    assert len(_LISTS) == len({shown.page for shown in _LISTS}) == 2


@pytest.mark.parametrize("shown", _LISTS, ids=lambda shown: shown.page)
def test_the_guide_lists_every_argument_with_its_default(shown: Shown):
    (call,) = (node for node in ast.walk(ast.parse(shown.code)) if isinstance(node, ast.Call))
    told = {one.arg: ast.literal_eval(one.value) for one in call.keywords}

    assert list(told.items()) == list(_defaults().items())
