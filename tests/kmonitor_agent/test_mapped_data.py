"""A fit whose data are a mapped file: its resident set grows, what is judged does not."""

# pyright: reportImplicitOverride=false, reportIncompatibleMethodOverride=false
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from kmonitor_agent import Limit, MonitorCallback
from kmonitor_agent.wire.messages.events import (
    ActionRecord,
    EpochEnded,
    LimitCrossed,
    Sample,
)
from tests.support import callback_fits
from tests.support.callback_fits import Hook, Told, of, small_model
from tests.support.recorders import hear
from tests.support.reloading import KERAS
from tests.support.waiting import DEADLINE_S

pytestmark = [
    *KERAS,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="procfs"),
]

closed_runs = callback_fits.closed_runs
told = callback_fits.told

MIB = 2**20
EPOCHS = 6
EPOCH_BYTES = 50 * MIB
ROWS = EPOCH_BYTES // (4 * 4)
STEPS = 8


@pytest.fixture
def mapped(tmp_path: Path) -> Any:
    path = tmp_path / "x.bin"
    with path.open("wb") as file:
        for _ in range(EPOCHS):
            file.write(np.ones((ROWS, 4), dtype="float32").tobytes())
    return np.memmap(path, dtype="float32", mode="r", shape=(EPOCHS * ROWS, 4))


def batches(mapped: Any) -> Iterator[tuple[Any, Any]]:
    """All pages of the file once, the next part in each epoch."""
    for part in np.array_split(mapped, EPOCHS * STEPS):
        x = part[:: len(part) // 8][:8] + 0.0 * float(part[::1024].sum())
        yield x.astype("float32"), x.sum(axis=1, keepdims=True)


def test_a_mapped_data_set_is_no_growth_of_what_is_judged_and_limited(
    mapped: Any, told: Told, monkeypatch: pytest.MonkeyPatch
):
    resident: list[int] = []
    base = psutil.Process().memory_info()
    bound = base.rss - base.shared + 220 * MIB
    sampled = threading.Event()
    hear(monkeypatch, lambda event: isinstance(event, Sample) and sampled.set())
    monitor: Any = MonitorCallback(
        "run", hub="off", sample_interval_s=0.1, limits=[Limit("ram", bound, action="collect")]
    )

    def look(_: int) -> None:
        resident.append(psutil.Process().memory_info().rss)
        sampled.clear()
        assert sampled.wait(DEADLINE_S)

    small_model().fit(
        batches(mapped),
        steps_per_epoch=STEPS,
        epochs=EPOCHS,
        verbose=0,
        shuffle=False,
        callbacks=[monitor, Hook(look)],
    )

    events = told(monitor)
    held = [event.ram_process_bytes or 0.0 for event in of(EpochEnded, events)]
    assert resident[-1] - resident[1] > 0.9 * (EPOCHS - 2) * EPOCH_BYTES
    assert held[-1] - held[0] < 40 * MIB
    assert of(LimitCrossed, events) == []
    assert of(ActionRecord, events) == []
    file_bytes = [sample.ram_file_bytes or 0.0 for sample in of(Sample, events)]
    assert max(file_bytes) - min(file_bytes) > 0.9 * (EPOCHS - 2) * EPOCH_BYTES
