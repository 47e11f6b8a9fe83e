# pyright: basic
"""Entry points of the agent for a script or Keras, with the process compared around each call."""

import threading
from collections import Counter
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from typing import Any, Final

from kmonitor_agent import MonitorCallback
from tests.support.process_state import SLOW, changes, process_state

HOOKS: Final = (
    *("set_params", "set_model", "on_train_begin", "on_train_end"),
    *("on_epoch_begin", "on_epoch_end", "on_part_end", "on_part_begin"),
)
"""Hooks of the callback; those of a step exist from a fit's begin to its end."""

_STEP_HOOKS: Final = ("on_train_batch_begin", "on_train_batch_end")


class EntryPoints:
    """Compares around each call.

    Attributes:
        calls: Number of calls of each entry point.
        found: Changes by a call, with its name.
    """

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.found: list[str] = []

    @contextmanager
    def around(self, name: str, allowed: Collection[str] = ()) -> Generator[None]:
        """Compare around the block, which is one call of an entry point."""
        before = process_state(SLOW)
        yield
        self.calls[name] += 1
        after = process_state(SLOW)
        self.found += [f"{name}: {each}" for each in changes(before, after, allowed)]

    def wrapped(
        self, function: Callable[..., Any], name: str, allowed: Collection[str] = ()
    ) -> Callable[..., Any]:
        """The function, compared around."""

        def call(*args: Any, **named: Any) -> Any:
            with self.around(name, allowed):
                return function(*args, **named)

        return call

    def watched(self, *args: Any, allowed: Collection[str] = (), **named: Any) -> Any:
        """A MonitorCallback whose hooks are compared around."""
        with self.around("MonitorCallback()"):
            monitor = MonitorCallback(*args, **named)
        for hook in HOOKS:
            setattr(monitor, hook, self.wrapped(getattr(monitor, hook), hook, allowed))
        begins = monitor.on_train_begin

        def on_train_begin(logs: Any = None) -> None:
            begins(logs)
            for hook in _STEP_HOOKS:
                if hook in vars(monitor):
                    setattr(monitor, hook, self.wrapped(vars(monitor)[hook], hook))

        monitor.on_train_begin = on_train_begin
        return monitor

    def in_a_thread(self, name: str, function: Callable[[], object]) -> None:
        """Call it on another thread, as a script may."""
        thread = threading.Thread(target=self.wrapped(function, name))
        thread.start()
        thread.join(60)

    def assert_nothing_touched(self) -> None:
        """No call changed anything of the script's."""
        assert not self.found, "\n".join(self.found)
