"""True if a device may compute steps later than they are handed to it."""

import hashlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kmonitor_agent.frameworks.base import AllocatorReadings, FrameworkInfo, computes_behind
from kmonitor_agent.wire.messages.events import EpochEnded
from tests.support import callback_fits
from tests.support.callback_fits import Told, of, small_model

closed_runs = callback_fits.closed_runs
monitor = callback_fits.monitor
told = callback_fits.told


@pytest.mark.parametrize(
    ("backend", "device", "expected"),
    [
        ("tensorflow", "CPU:0", False),
        ("tensorflow", "GPU:0", True),
        ("torch", "", True),
        ("torch", "CPU:0", False),
        ("torch", "GPU:0", True),
        ("jax", "CPU:0", True),
    ],
)
def test_steps_are_computed_behind_on_a_gpu_and_by_jax(
    backend: str, device: str, *, expected: bool
):
    framework: Any = SimpleNamespace(
        info=lambda: FrameworkInfo(backend=backend),
        allocator=lambda: AllocatorReadings.missing(device, "not asked here"),
    )

    assert computes_behind(framework) is expected


@pytest.mark.keras
def test_a_long_last_step_is_not_taken_for_a_device_that_is_behind(monitor: Any, told: Told):
    steps = 20

    def batches() -> Iterator[Any]:
        for index in range(1_000):
            if index % steps == steps - 1:
                hashlib.pbkdf2_hmac("sha256", b"", b"", 500_000)  # many steps' time
            yield np.ones((16, 4), "float32"), np.ones((16, 1), "float32")

    small_model().fit(
        batches(), steps_per_epoch=steps, epochs=3, verbose=0, callbacks=[monitor], shuffle=False
    )

    times = [event.step_times for event in of(EpochEnded, told(monitor))]
    assert len(times) == 3
    assert all(each is not None and each.p50_s is not None for each in times)
