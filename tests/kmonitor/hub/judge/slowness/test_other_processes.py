"""Epochs that wait for processors which others take: no slowdown of the script's own."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor_agent.wire.messages.events import (
    CallbackTime,
    EpochEnded,
    EpochParts,
    EpochStarted,
    FitStarted,
    Sample,
    StepTimes,
    Verdict,
)

Series = Sequence[float] | NDArray[np.float64]

EPOCHS = 36
STEPS = 100
AT = np.arange(EPOCHS)
ALONE_S = {"compute": 0.12, "input": 0.04, "callbacks": 0.03, "rest": 0.02}
WAITS_ALONE = 0.1

REST_S = [
    *(0.035, 0.017, 0.016, 0.018, 0.022, 0.017, 0.017, 0.027, 0.018, 0.018, 0.018, 0.017, 0.035),
    *(0.018, 0.024, 0.064, 0.066, 0.043, 0.091, 0.109, 0.183, 0.044, 0.068, 0.098, 0.098, 0.113),
    *(0.123, 0.236, 0.116, 0.098),
]
"""The rest of epochs beside which other processes took both cores from the sixteenth on."""


def judged(
    parts_s: Mapping[str, Series],
    own_s: Series,
    waits: Series,
) -> list[Verdict]:
    """The alarms on times; one reading in each epoch says how long it waits for a processor."""
    judge, t_s, stored = RunJudge(), 0.0, list[Verdict]()
    judge.read(0.0, FitStarted(t_s=0.0, fit=1, model="m", epochs=99, steps=STEPS))
    for epoch, (own, wait) in enumerate(zip(own_s, waits, strict=True)):
        judge.read(t_s, EpochStarted(t_s=t_s, fit=1, epoch=epoch))
        seconds = {name: float(values[epoch]) for name, values in parts_s.items()}
        wall_s = sum(seconds.values())
        t_s += wall_s
        judge.read(t_s, Sample(t_s=t_s, fit=1, epoch=epoch, cpu_wait_fraction=float(wait)))
        step_s = (seconds["compute"] + seconds["input"]) / STEPS
        parts = EpochParts(
            wall_s=wall_s,
            cpu_s=float(own),
            callbacks=[CallbackTime("Writer", seconds["callbacks"])],
            **{f"{name}_s": each for name, each in seconds.items()},
        )
        times = StepTimes(STEPS - 2, step_s, step_s, step_s, step_s, step_s)
        ended = EpochEnded(t_s, 1, epoch, wall_s, STEPS, step_times=times, parts=parts)
        judge.read(t_s, ended)
        stored += judge.judge()
    return [
        each
        for each in stored
        if each.metric in {"epoch_time", "step_time"} and each.state == "growing"
    ]


def scattered(seed: int) -> NDArray[np.float64]:
    return np.exp(np.random.default_rng(seed).normal(0.0, 0.1, EPOCHS))


def beside_others(
    times: Series, seed: int, own: float | NDArray[np.float64] = 1.0
) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.float64], NDArray[np.float64]]:
    """Parts, processor time and waits where others lengthen all parts by these factors.

    The same work takes more processor time then: by the third root of the factor.
    """
    factors = np.array(times) * scattered(seed)
    parts_s = {name: each_s * factors * own for name, each_s in ALONE_S.items()}
    own_s = 0.17 * own * factors ** (1 / 3) * scattered(seed + 100)
    waits = 1.0 - (1.0 - WAITS_ALONE) / np.maximum(1.0, factors) ** 0.75
    return parts_s, own_s, waits


BUSY_FROM_16 = np.where(AT < 15, 1.0, 5.0)
EVER_BUSIER = np.linspace(1.0, 7.0, EPOCHS)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("times", [BUSY_FROM_16, EVER_BUSIER], ids=["from_16", "ever_busier"])
def test_nothing_is_called_that_waits_for_processors_which_others_take(
    times: NDArray[np.float64], seed: int
):
    parts_s, own_s, waits = beside_others(times, seed)

    assert judged(parts_s, own_s, waits) == []


@pytest.mark.parametrize("seed", range(3))
def test_slower_computing_that_waits_no_longer_for_a_processor_is_called(seed: int):
    parts_s, own_s, _ = beside_others([1.0] * EPOCHS, seed)
    parts_s["compute"] = parts_s["compute"] * BUSY_FROM_16

    called = judged(parts_s, own_s, [WAITS_ALONE] * EPOCHS)

    assert {(each.metric, each.where, each.since) for each in called} == {
        ("epoch_time", "compute", 16),
        ("step_time", "compute", 16),
    }


@pytest.mark.parametrize("seed", range(3))
def test_work_that_explains_the_time_is_called_while_others_take_processors_too(seed: int):
    own = np.where(AT < 15, 1.0, 4.0)
    parts_s, own_s, waits = beside_others(np.where(AT < 15, 1.0, 1.5), seed, own)

    called = judged(parts_s, own_s, waits)

    assert {each.where for each in called} == {"compute"}


def test_part_that_grows_as_all_others_beside_other_processes_is_not_called():
    times = np.where(AT < 15, 1.0, 4.5)[: len(REST_S)]
    parts_s, own_s, waits = beside_others([*times, *[4.5] * (EPOCHS - len(times))], 0)
    n = len(REST_S)
    parts_s = {name: each[:n] for name, each in parts_s.items()} | {"rest": np.array(REST_S)}

    assert judged(parts_s, own_s[:n], waits[:n]) == []


@pytest.mark.parametrize("seed", range(3))
def test_callback_that_grows_far_more_than_all_others_is_called_beside_other_processes(seed: int):
    parts_s, own_s, waits = beside_others(np.where(AT < 15, 1.0, 3.0), seed)
    parts_s["callbacks"] = parts_s["callbacks"] + 0.04 * AT

    called = judged(parts_s, own_s, waits)

    assert {(each.where, each.name) for each in called if each.metric == "epoch_time"} == {
        ("callbacks", "Writer")
    }
