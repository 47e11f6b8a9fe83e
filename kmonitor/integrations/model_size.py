"""Whether a model that is about to be made or trained would fit; asked in its own process."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import psutil

from kmonitor.memory_map.dtypes import item_bytes
from kmonitor.memory_map.estimate import MemoryMap, Plan, estimate
from kmonitor.memory_map.traced import Traced
from kmonitor_agent.frameworks.keras_layout import read_layout
from kmonitor_agent.frameworks.step_tracing import CannotTrace, trace
from kmonitor_agent.local.byte_sizes import bytes_text


class TooLarge(Exception):
    """The model does not fit.

    Attributes:
        why: In words, with how sure it is.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def held_bytes() -> int:
    """What this process holds already."""
    return psutil.Process(os.getpid()).memory_info().rss


@contextmanager
def weights_within(keras: Any, bound_bytes: int) -> Generator[None]:
    """While a model is built: its weights alone must fit, else they are not even made.

    Args:
        keras: Keras 3.
        bound_bytes: For this process, all in all.

    Raises:
        TooLarge: They do not.
    """
    add_weight, held, made = keras.layers.Layer.add_weight, held_bytes(), [0]

    def counted(layer: Any, shape: Any = None, *args: Any, **named: Any) -> Any:
        size = item_bytes(str(named.get("dtype") or layer.variable_dtype))
        for length in shape or ():
            size *= length or 1
        made[0] += size
        if held + made[0] > bound_bytes:
            raise TooLarge(
                f"the weights of this model take {bytes_text(made[0])} or more, beside"
                f" {bytes_text(held)} that its process holds already, of"
                f" memory={bytes_text(bound_bytes)}; it was not built"
            )
        return add_weight(layer, shape, *args, **named)

    with mock.patch.object(keras.layers.Layer, "add_weight", counted):
        yield


def check_step(model: Any, batch: int, bound_bytes: int) -> None:
    """A training step must fit, even by the low end of what the memory map tells.

    Args:
        model: Built; what cannot be described passes.
        batch: Examples a step.
        bound_bytes: For this process, all in all.

    Raises:
        TooLarge: It does not.
    """
    held = held_bytes()
    found = _map_of(model, batch, bound_bytes - held)
    if found is None:
        return
    # What the weights take is there already, so that it is held.
    more = found.low_bytes - found.parameter_bytes
    if held + more <= bound_bytes:
        return
    low, high = bytes_text(found.low_bytes), found.high_bytes
    most = f" to {bytes_text(high)}" if high is not None else " or more"
    raise TooLarge(
        f"a step of this model would take about {bytes_text(found.peak_bytes)} ({low}{most}, tier"
        f" {found.tier}: {found.method}) at batch {batch}; its process holds {bytes_text(held)}"
        f" with its weights, of memory={bytes_text(bound_bytes)}; it was not trained"
    )


def _map_of(model: Any, batch: int, left_bytes: int) -> MemoryMap | None:
    """By rules, and by its traced step where those leave a doubt that it fits."""
    try:
        layout = read_layout(model)
        found = estimate(layout, Plan(batch))
        if found.peak_bytes - found.parameter_bytes <= left_bytes:
            return None
        try:
            traced = Traced(trace(model), layout)
        except CannotTrace:
            return found
        return estimate(layout, Plan(batch, traced=traced))
    except Exception:  # noqa: BLE001 - a model that cannot be described is trained and watched
        return None
