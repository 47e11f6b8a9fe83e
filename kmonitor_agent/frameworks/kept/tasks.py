# pyright: basic
"""Tasks and futures of asyncio, and what they hold.

A loop keeps each task until it ends, and a task keeps its coroutine with all variables: one that
waits for ever is kept without a container of the script's. Futures also refer to those that wait
for them, which are no part of them: by these each task leads to all others.

No code of the script's runs: attributes are read as C's own classes define them.
"""

import sys
import weakref
from collections.abc import Iterable
from typing import Any, Final

from kmonitor_agent.frameworks.kept.containers import Series, newest_items
from kmonitor_agent.frameworks.script_values import (
    class_bases,
    class_module,
    instance_dict,
    is_instance,
    own_attributes,
)

TASKS: Final = "asyncio.all_tasks"
"""Location of tasks that have not ended."""

_OWNED: Final = ("_result", "_exception", "_coro")
_SETS: Final = ("_all_tasks", "_scheduled_tasks")
"""Variables of asyncio that refer to all tasks, up to Python 3.11 and from 3.12 on."""

_MOST_TASKS: Final = 10_000


def held_by_future(value: Any) -> list[Any] | None:
    """Result, error and coroutine of a future or task of asyncio; None for anything else."""
    bases = [each for each in class_bases(type(value)) if class_module(each) == "_asyncio"]
    future: Any = _class("Future")
    if not bases or future is None or not is_instance(value, future, _class("Task") or future):
        return None
    found = [_read(base, name, value) for base in bases for name in _OWNED]
    return [*(each for each in found if each is not None), *instance_dict(value).values()]


def pending_tasks(containers: Iterable[Any]) -> Series | None:
    """Tasks that have not ended and are in no container of the script's, in no order.

    None if there are none, or they cannot be read: from Python 3.14 on they are in lists of C.

    Args:
        containers: Containers of the script.
    """
    task: Any = _class("Task")
    module = instance_dict(sys.modules.get("asyncio.tasks"))
    refs = [ref for name in _SETS for ref in _references(module.get(name))]
    if task is None or not 0 < len(refs) <= _MOST_TASKS:
        return None
    kept: set[int] = set()
    for each in containers:
        if any(type(item) is task for item in newest_items(each, 1)):
            kept.update(map(id, newest_items(each, _MOST_TASKS)))
    alive = (ref() for ref in refs if type(ref) is weakref.ref)
    found = [each for each in alive if type(each) is task and id(each) not in kept]
    pending = [each for each in found if _read(task, "_state", each) == "PENDING"]
    return Series(pending, len(pending), "set") if pending else None


def _references(tasks: Any) -> list[Any]:
    held = instance_dict(tasks).get("data") if isinstance(tasks, weakref.WeakSet) else None
    return list(set.copy(held)) if type(held) is set else []


def _class(name: str) -> Any:
    kind = instance_dict(sys.modules.get("_asyncio")).get(name)
    return kind if type(kind) is type else None


def _read(kind: Any, name: str, value: Any) -> Any:
    attribute = own_attributes(kind).get(name)
    try:
        return None if attribute is None else attribute.__get__(value, kind)
    except (AttributeError, TypeError):  # not initialized
        return None
