"""Actions on a training, from within it, by the tool that has any."""

# ruff: noqa: PLC0415 - only a training that kmonitor watches loads it
# pyright: reportImplicitOverride=false

from typing import Any, Final

import keras

from tests.benchmarks.peers.watched.tools import OURS

ASKED: Final = {
    "retracing": "auto",
    "Python objects kept": "restart",
    "native leak": "restart",
    "slow-down": "stop",
}
"""Action that is requested of kmonitor, near the end of each of these."""
_DIAGNOSE = 20
_ACT = 27


class Asks(keras.callbacks.Callback):
    """Presses the tool's buttons, as a user would: first *Diagnose*, then what may help."""

    def __init__(self, monitor: Any, action: str) -> None:
        super().__init__()
        self._monitor = monitor
        self._action = action

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if epoch == _DIAGNOSE:
            self._monitor.request("diagnose")
        elif epoch == _ACT:
            self._monitor.request(self._action)


def callbacks(order: dict[str, Any], with_tool: list[Any]) -> list[Any]:
    """Callbacks that request an action; none for a tool that has none."""
    action = ASKED.get(order["scene"])
    if order["tool"] != OURS or action is None:
        return []
    return [Asks(with_tool[0], action)]


def between_models(order: dict[str, Any]) -> None:
    """Action of a tool when one model is finished and the next not yet made."""
    if order["tool"] == OURS:
        from kmonitor_agent import collect

        collect()
