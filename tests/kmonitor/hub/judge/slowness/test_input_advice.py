"""Advice on the wait for input: by the kind of data, and by what is waited for."""

from typing import Any, Final

import pytest

from kmonitor.base.trend import Slope
from kmonitor.hub.judge.causes import Remedy
from kmonitor.hub.judge.growth import Growth
from kmonitor.hub.judge.slowness.slower_steps import advice_on_input
from kmonitor.hub.judge.units import Unit
from kmonitor.ui.verdicts.time_text import time_advice_text
from kmonitor_agent.wire.messages.events import FitStarted, Verdict

EACH_BATCH: Final = (0.1, 2.0)
FIRST_BATCH: Final = (1.8, 2.0)
"""Wait for an epoch's first batch, and for all of them, seconds."""


def fit(kind: str, *, epochs: int = 20, **stages: Any) -> FitStarted:
    fields = {f"data_{name}": value for name, value in stages.items()}
    return FitStarted(t_s=0.0, fit=1, model="m", epochs=epochs, data_kind=kind, **fields)


def epochs_of(started: FitStarted | None, *waits: tuple[float, float]) -> list[Unit]:
    return [
        Unit(
            number,
            0.0,
            times={"input": input_s, "compute": 1.0},
            first_input_s=first_s,
            fit=started,
        )
        for number, (first_s, input_s) in enumerate(waits, start=1)
    ]


CASES: Final = [
    (fit("arrays"), EACH_BATCH, []),
    (fit("arrays"), FIRST_BATCH, []),
    (fit("dataset"), EACH_BATCH, ["prefetch_dataset"]),
    (fit("dataset", prefetches=True), EACH_BATCH, ["parallel_map"]),
    (fit("dataset", maps_in_parallel=True), EACH_BATCH, ["add_prefetch"]),
    (fit("dataset", prefetches=True, maps_in_parallel=True), EACH_BATCH, ["keep_batches"]),
    (
        fit("dataset", prefetches=True, maps_in_parallel=True, python="map"),
        EACH_BATCH,
        ["no_python_map"],
    ),
    (
        fit("dataset", prefetches=True, maps_in_parallel=True, python="map"),
        FIRST_BATCH,
        ["no_python_map"],
    ),
    (fit("dataset", prefetches=True, python="generator"), EACH_BATCH, ["no_from_generator"]),
    (fit("dataset", python="generator"), FIRST_BATCH, ["repeat"]),
    (fit("dataset"), FIRST_BATCH, ["repeat"]),
    (fit("dataset", persists=True), FIRST_BATCH, []),
    (fit("dataset", epochs=1), FIRST_BATCH, []),
    (fit("pydataset", workers=1), EACH_BATCH, ["more_workers"]),
    (fit("pydataset", workers=1), FIRST_BATCH, []),
    (fit("pydataset", workers=4), FIRST_BATCH, []),
    (fit("generator"), EACH_BATCH, ["no_generator"]),
    (fit("generator"), FIRST_BATCH, []),
    (fit("loader", workers=0), EACH_BATCH, ["loader_workers"]),
    (fit("loader", workers=0), FIRST_BATCH, []),
    (fit("loader", workers=2), FIRST_BATCH, ["keep_workers"]),
    (fit("loader", workers=2, persists=True), FIRST_BATCH, []),
    (fit("grain"), EACH_BATCH, []),
    (fit("grain"), FIRST_BATCH, []),
    (fit(""), EACH_BATCH, ["prefetch"]),
    (fit(""), FIRST_BATCH, []),
    (None, EACH_BATCH, ["prefetch"]),
    (None, FIRST_BATCH, []),
]


@pytest.mark.parametrize(("started", "waits", "advice"), CASES)
def test_advice_is_of_the_data_and_of_the_batches_that_are_waited_for(
    started: FitStarted | None, waits: tuple[float, float], advice: list[str]
):
    units = epochs_of(started, *[waits] * 5)

    assert [each.name.lower() for each in advice_on_input(units)] == advice


@pytest.mark.parametrize("code", sorted({code for *_, codes in CASES for code in codes}))
def test_each_advice_on_input_has_its_text(code: str):
    verdict = Verdict(t_s=0.0, metric="epoch_time", state="growing", per="epoch", units=9, unit=9)

    assert time_advice_text(code, verdict)


JUMP: Final = Growth(None, 6, 11, rise=1.0)
SLOPE: Final = Growth(None, 0, 11, rise=1.0, slope=Slope(0.1, 0.05, 0.15))


@pytest.mark.parametrize("growth", [JUMP, SLOPE])
def test_advice_on_growth_is_on_the_batches_whose_wait_grew(growth: Growth):
    later = [(1.5, 1.6 + 0.1 * n + 0.5 * (n >= 6)) for n in range(12)]
    first = [(0.1 * n + 0.5 * (n >= 6), 2.5 + 0.1 * n + 0.5 * (n >= 6)) for n in range(12)]

    assert [
        [each.name.lower() for each in advice_on_input(epochs_of(fit("dataset"), *waits), growth)]
        for waits in (later, first)
    ] == [["prefetch_dataset"], ["repeat"]]


def test_fits_whose_datasets_take_ever_longer_to_start_are_advised_to_create_one():
    waits = [(0.1 * n, 0.1 + 0.1 * n) for n in range(12)]

    found = [
        advice_on_input(epochs_of(fit(kind, epochs=1), *waits), SLOPE)
        for kind in ("dataset", "generator")
    ]

    assert found == [(Remedy.DATASET_ONCE,), ()]
