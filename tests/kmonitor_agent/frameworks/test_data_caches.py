"""Caches that a pipeline of tf.data has in memory, read off the fit that takes from it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kmonitor_agent.frameworks.data_caches import DataCache, data_cache
from kmonitor_agent.wire.messages.events import FitStarted
from tests.support import callback_fits
from tests.support.callback_fits import Told, of, small_model
from tests.support.reloading import KERAS

pytestmark = [*KERAS]
closed_runs = callback_fits.closed_runs
told = callback_fits.told

tf: Any = pytest.importorskip("tensorflow")


def pairs(n: int) -> Any:
    return tf.data.Dataset.range(n).map(lambda _: (tf.zeros((4,)), tf.zeros((1,))))


def endless() -> Iterator[Any]:
    while True:
        yield [0.0] * 4


CASES: dict[str, tuple[Callable[[Path], Any], DataCache | None]] = {
    "batched after it": (lambda _: pairs(100).cache().batch(8), DataCache(13, 2000)),
    "batched before it": (lambda _: pairs(100).batch(10).cache(), DataCache(10)),
    "fixed batches": (
        lambda _: pairs(100).batch(10, drop_remainder=True).cache().repeat().prefetch(2),
        DataCache(10, 2000),
    ),
    "shuffled, batched twice": (
        lambda _: pairs(96).cache().shuffle(50).batch(8).map(lambda *a: a).batch(2),
        DataCache(6, 1920),
    ),
    "none": (lambda _: pairs(100).batch(8), None),
    "on the disk": (lambda folder: pairs(100).cache(str(folder / "c")).batch(8), None),
    "without an end": (lambda _: pairs(100).repeat().cache().batch(8), None),
    "nobody knows": (lambda _: pairs(100).filter(lambda *_: True).cache().batch(8), None),
    "of unknown ratio": (lambda _: pairs(100).cache().batch(8).unbatch(), None),
}


@pytest.mark.parametrize("case", CASES)
def test_the_end_of_a_cache_is_known_where_its_pipeline_tells(case: str, tmp_path: Path):
    make, expected = CASES[case]

    assert data_cache(make(tmp_path)) == expected


def test_a_fit_tells_of_its_datas_cache(told: Told):
    from kmonitor_agent import MonitorCallback  # noqa: PLC0415 - after Keras was chosen

    monitor: Any = MonitorCallback("run", hub="off")
    how: dict[str, Any] = {"verbose": 0, "shuffle": False, "callbacks": [monitor]}
    data = pairs(64).cache().repeat().batch(8)
    small_model().fit(data, steps_per_epoch=2, epochs=2, **how)
    small_model().fit(pairs(64).batch(8), epochs=1, **how)

    begun = of(FitStarted, told(monitor))
    assert [(one.cache_steps, one.cache_bytes) for one in begun] == [(8, 1280.0), (None, None)]
