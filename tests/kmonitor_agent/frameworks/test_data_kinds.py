"""Kind of data of a fit, as its start reports it."""

from collections.abc import Callable, Iterator
from typing import Any

import keras
import pytest

from kmonitor_agent.frameworks.data_kinds import KindOfData, fit_data
from kmonitor_agent.wire.messages.events import FitStarted
from tests.support import callback_fits
from tests.support.callback_fits import Told, X, Y, of, small_model
from tests.support.reloading import KERAS

pytestmark = [*KERAS]
closed_runs = callback_fits.closed_runs
told = callback_fits.told

tf: Any = pytest.importorskip("tensorflow")
Batches: Any = keras.utils.PyDataset


class Halves(Batches):
    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Any:
        return X[index::2], Y[index::2]


class Forgetful(Halves):
    def __init__(self) -> None:
        """Without its base's, as many scripts have it."""


def endless() -> Iterator[Any]:
    while True:
        yield X, Y


def dataset() -> Any:
    return tf.data.Dataset.from_tensor_slices((X, Y)).batch(8)


def halved(x: Any, y: Any) -> Any:
    return x / 2, y


def in_python(x: Any, y: Any) -> Any:
    return tf.ensure_shape(tf.py_function(abs, [x], x.dtype), x.shape), y


def of_generator() -> Any:
    specs = tuple(tf.TensorSpec(each.shape, each.dtype) for each in (X, Y))
    return tf.data.Dataset.from_generator(endless, output_signature=specs).prefetch(1)


CASES: dict[str, tuple[Callable[[], Any], KindOfData]] = {
    "arrays": (lambda: {"x": X, "y": Y}, KindOfData("arrays")),
    "dataset": (lambda: {"x": dataset()}, KindOfData("dataset")),
    "dataset that prefetches": (
        lambda: {"x": dataset().prefetch(2).repeat(1)},
        KindOfData("dataset", prefetches=True),
    ),
    "dataset that maps in parallel": (
        lambda: {"x": dataset().map(halved, num_parallel_calls=2)},
        KindOfData("dataset", maps_in_parallel=True),
    ),
    "dataset that maps in parallel and in turn": (
        lambda: {"x": dataset().map(halved, num_parallel_calls=2).map(halved)},
        KindOfData("dataset"),
    ),
    "dataset with Python in a map": (
        lambda: {"x": dataset().map(in_python, num_parallel_calls=2)},
        KindOfData("dataset", maps_in_parallel=True, python="map"),
    ),
    "dataset with Python in a function of a map": (
        lambda: {"x": dataset().map(tf.function(in_python))},
        KindOfData("dataset", python="map"),
    ),
    "dataset of a generator": (
        lambda: {"x": of_generator(), "steps_per_epoch": 2},
        KindOfData("dataset", persists=True, prefetches=True, python="generator"),
    ),
    "dataset of steps": (
        lambda: {"x": dataset().repeat(), "steps_per_epoch": 2},
        KindOfData("dataset", persists=True),
    ),
    "py dataset": (lambda: {"x": Halves()}, KindOfData("pydataset", 1)),
    "py dataset with workers": (lambda: {"x": Halves(workers=2)}, KindOfData("pydataset", 2)),
    "forgetful py dataset": (lambda: {"x": Forgetful()}, KindOfData("pydataset", 1)),
    "generator": (
        lambda: {"x": endless(), "steps_per_epoch": 2},
        KindOfData("generator", persists=True),
    ),
}


@pytest.mark.filterwarnings("ignore:.*super\\(\\).__init__.*:UserWarning")
@pytest.mark.parametrize("case", CASES)
def test_start_of_a_fit_has_the_kind_of_its_data(case: str, told: Told):
    from kmonitor_agent import MonitorCallback  # noqa: PLC0415 - after Keras was chosen

    make, expected = CASES[case]
    monitor: Any = MonitorCallback("run", hub="off")
    small_model().fit(**make(), epochs=2, shuffle=False, verbose=0, callbacks=[monitor])

    (started,) = of(FitStarted, told(monitor))
    found = KindOfData(
        started.data_kind,
        started.data_workers,
        started.data_persists,
        started.data_prefetches,
        started.data_maps_in_parallel,
        started.data_python,
    )
    assert found == expected


class OwnAdapter:
    """A script's own adapter."""


def test_adapter_of_the_script_is_of_an_unknown_kind():
    assert fit_data(OwnAdapter(), {}) == KindOfData()
    assert fit_data(None, {}) == KindOfData()
