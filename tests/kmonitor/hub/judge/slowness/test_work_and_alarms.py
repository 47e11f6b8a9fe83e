"""Alarms on time from their first unit to their end, beside the processor time of the process."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from kmonitor.base.trend import theil_sen_slope
from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor_agent.wire.messages.events import (
    CallbackTime,
    EpochEnded,
    EpochParts,
    EpochStarted,
    FitStarted,
    StepTimes,
    Verdict,
)

EPOCHS = 36
Series = Sequence[float] | NDArray[np.float64]

SCANNED_COMPUTE_S = [
    *(0.04, 0.03, 0.05, 0.03, 0.03, 0.03, 0.06, 0.00, 0.08, 0.04, 0.02, 0.09, 0.11, 0.15, 0.09),
    *(0.26, 0.16, 0.81, 0.45, 0.11, 0.98, 0.31, 0.25, 0.26, 0.31, 0.42, 0.19, 0.22, 0.22, 1.37),
]
SCANNED_INPUT_S = [
    *(0.19, 0.07, 0.21, 0.23, 0.38, 0.25, 0.42, 0.37, 0.51, 0.33, 0.33, 1.19, 0.60, 0.75, 0.82),
    *(1.56, 0.90, 1.99, 1.65, 1.42, 2.36, 2.15, 2.96, 1.62, 2.90, 2.15, 1.84, 1.59, 1.35, 3.82),
]
SCANNED_OWN_S = [
    *(0.63, 0.09, 0.13, 0.16, 0.19, 0.22, 0.26, 0.27, 0.30, 0.31, 0.32, 0.44, 0.44, 0.54, 0.55),
    *(0.62, 0.58, 0.70, 0.72, 0.79, 0.86, 0.87, 0.94, 0.96, 0.97, 1.02, 1.03, 0.98, 1.02, 1.24),
]
SCANNED_STEPS_S = [
    *(0.0032, 0.0053, 0.0083, 0.0086, 0.0101, 0.0144, 0.0278, 0.0166, 0.0166, 0.0187),
    *(0.0194, 0.0589, 0.0283, 0.0381, 0.0381, 0.0967, 0.0413, 0.0413, 0.0589, 0.0704),
    *(0.1006, 0.0809, 0.0762, 0.0793, 0.0876, 0.1178, 0.0911, 0.0842, 0.0893, 0.2551),
]
"""Computing, the wait for input, processor time and median steps, where a `py_function` looks
through a list that gets longer, in epochs of 15 steps on a busy machine."""

METRIC_COMPUTE_S = [
    *(1.53, 1.50, 1.48, 1.69, 1.16, 1.36, 2.80, 1.68, 2.10, 2.05, 3.00, 1.62, 1.44, 1.67, 1.58),
    *(1.71, 1.70, 2.19, 2.03, 1.84, 2.49, 1.55, 1.82, 2.18, 2.02, 1.46, 1.99, 2.19, 2.10, 2.73),
]
METRIC_OWN_S = [
    *(0.35, 0.35, 0.35, 0.38, 0.36, 0.38, 0.44, 0.47, 0.50, 0.62, 0.61, 0.55, 0.54, 0.57, 0.57),
    *(0.62, 0.63, 0.63, 0.63, 0.61, 0.69, 0.66, 0.81, 0.78, 0.77, 0.74, 0.82, 0.92, 0.84, 0.94),
]
"""Computing and processor time with a metric that is never reset, on a busy machine."""


def judged(
    parts_s: Mapping[str, Series],
    own_s: Series,
    *,
    steps: Callable[[int], int] = lambda epoch: 100,
    data_python: str = "",
    steps_s: Sequence[float] | None = None,
) -> list[Verdict]:
    """The stored verdicts on times; steps take what input and computing take."""
    judge, t_s, stored = RunJudge(), 0.0, list[Verdict]()
    judge.read(0.0, FitStarted(t_s=0.0, fit=1, model="m", epochs=99, data_python=data_python))
    for epoch, own in enumerate(own_s):
        judge.read(t_s, EpochStarted(t_s=t_s, fit=1, epoch=epoch))
        seconds = {name: float(values[epoch]) for name, values in parts_s.items()}
        seconds = {"input": 0.02, "callbacks": 0.02} | seconds
        wall_s = sum(seconds.values())
        t_s += wall_s
        step_s = (seconds["input"] + seconds["compute"]) / steps(epoch)
        step_s = step_s if steps_s is None else steps_s[epoch]
        parts = EpochParts(
            wall_s=wall_s,
            cpu_s=float(own),
            callbacks=[CallbackTime("Auc", seconds["callbacks"])],
            **{f"{name}_s": each for name, each in seconds.items()},
        )
        times = StepTimes(steps(epoch) - 2, step_s, step_s, step_s, step_s, step_s)
        judge.read(
            t_s, EpochEnded(t_s, 1, epoch, wall_s, steps(epoch), step_times=times, parts=parts)
        )
        stored += judge.judge()
    return [each for each in stored if each.metric in {"epoch_time", "step_time"}]


def states(stored: list[Verdict], metric: str) -> list[str]:
    found = [each.state for each in stored if each.metric == metric]
    return [each for each in found if each in {"growing", "cleared"}]


def alarms(stored: list[Verdict], metric: str) -> list[Verdict]:
    return [each for each in stored if each.metric == metric and each.state == "growing"]


def more_steps(epoch: int) -> int:
    return 100 + 50 * epoch


@pytest.mark.parametrize("slower", [1.0, 1.08])
def test_more_steps_are_no_slower_steps(slower: float):
    compute_s = [
        0.0014 * more_steps(epoch) * (slower if epoch >= 13 else 1.0) for epoch in range(EPOCHS)
    ]

    stored = judged({"compute": compute_s}, compute_s, steps=more_steps)

    assert states(stored, "step_time") == []
    assert "own_work" not in {each.cause for each in stored if each.metric == "step_time"}


def test_steps_that_take_twice_as_long_are_called_while_their_number_changes():
    def steps(epoch: int) -> int:
        return 200 if epoch % 3 else 100

    compute_s = [0.004 * steps(epoch) * (2.0 if epoch >= 13 else 1.0) for epoch in range(EPOCHS)]

    stored = judged({"compute": compute_s}, compute_s, steps=steps)

    assert set(states(stored, "step_time")) == {"growing"}
    assert {each.since for each in alarms(stored, "step_time")} == {14}


def test_alarm_goes_on_where_later_epochs_make_other_steps():
    def steps(epoch: int) -> int:
        return 400 if epoch < 24 else 100

    input_s = [steps(epoch) * (0.0002 + 0.0001 * epoch) for epoch in range(EPOCHS)]
    compute_s = [0.001 * steps(epoch) for epoch in range(EPOCHS)]

    stored = judged({"compute": compute_s, "input": input_s}, compute_s, steps=steps)

    assert set(states(stored, "step_time")) == {"growing"}
    for each in alarms(stored, "step_time"):
        assert each.slope == pytest.approx(0.0001, rel=0.1)


def test_rate_is_that_of_the_median_step_where_computing_waits_for_pythons_data():
    stored = judged(
        {"compute": SCANNED_COMPUTE_S, "input": SCANNED_INPUT_S},
        SCANNED_OWN_S,
        steps=lambda epoch: 15,
        data_python="map",
        steps_s=SCANNED_STEPS_S,
    )

    called = alarms(stored, "step_time")
    assert {each.where for each in called} == {"input"}
    for each in called:
        steps_s = np.array(SCANNED_STEPS_S[1 : each.unit])
        rate = theil_sen_slope(np.arange(len(steps_s), dtype=np.float64), steps_s)
        assert each.slope == pytest.approx(rate, rel=0.2)


def test_alarm_lasts_while_the_process_works_ever_longer_on_a_busy_machine():
    stored = judged({"compute": METRIC_COMPUTE_S}, METRIC_OWN_S)

    for metric in ("epoch_time", "step_time"):
        assert set(states(stored, metric)) == {"growing"}


def test_rate_of_an_alarm_that_lasts_is_that_of_all_epochs_so_far():
    last = alarms(judged({"compute": METRIC_COMPUTE_S}, METRIC_OWN_S), "epoch_time")[-1]

    seconds = np.array(METRIC_COMPUTE_S[1 : last.unit])
    rate = theil_sen_slope(np.arange(len(seconds), dtype=np.float64), seconds)
    assert last.unit > 25
    assert last.window == len(seconds)
    assert last.slope == pytest.approx(rate, rel=0.05)


def test_rate_of_steps_ends_where_the_median_step_no_longer_grows():
    at = np.arange(EPOCHS, dtype=np.float64)
    noise = np.exp(np.random.default_rng(3).normal(0.0, 0.02, EPOCHS))
    callbacks_s = (0.05 + 0.03 * at) * noise
    steps_s = 0.002 + 0.0003 * np.where(at < 14, at, 0)

    stored = judged(
        {"compute": [0.2] * EPOCHS, "callbacks": callbacks_s},
        [0.3] * EPOCHS,
        steps_s=steps_s.tolist(),
    )

    assert states(stored, "epoch_time")[-1] == "growing"
    assert states(stored, "step_time")[-1] == "cleared"


def test_alarm_ends_where_the_process_works_no_longer_any_more():
    own_s = [0.3 + 0.03 * epoch for epoch in range(20)] + [0.3] * 16

    stored = judged({"compute": own_s}, own_s)

    assert states(stored, "epoch_time")[-1] == "cleared"


@pytest.mark.parametrize("seed", range(6))
def test_slower_level_that_is_over_is_never_said_to_be_slower_by_nothing(seed: int):
    noise = np.exp(np.random.default_rng(seed).normal(0.0, 0.1, EPOCHS))
    input_s = np.array([0.05] * 10 + [0.9] * 10 + [0.05] * 16) * noise

    stored = judged({"compute": [0.2] * EPOCHS, "input": input_s}, [0.2] * EPOCHS)

    for metric in ("epoch_time", "step_time"):
        called = alarms(stored, metric)
        assert {each.since for each in called} == {11}
        assert all(each.rise * (100 if metric == "step_time" else 1) > 0.5 for each in called)
        assert states(stored, metric)[-1] == "cleared"


@pytest.mark.parametrize("seed", range(6))
def test_callback_that_works_ever_longer_is_called_on_a_busy_machine(seed: int):
    own_s = np.array([0.36 + 0.058 * epoch for epoch in range(EPOCHS)])
    rng = np.random.default_rng(seed)
    load = np.repeat(rng.uniform(1.0, 3.0, EPOCHS // 3), 3)

    stored = judged({"compute": [0.1] * EPOCHS, "callbacks": own_s * load}, own_s + 0.1)

    (first, *_) = alarms(stored, "epoch_time")
    assert first.unit <= 18
    assert (first.where, first.name) == ("callbacks", "Auc")


@pytest.mark.parametrize("seed", range(6))
def test_callback_that_waits_on_a_busy_machine_is_not_called_for_the_work_of_others(seed: int):
    rng = np.random.default_rng(seed)
    load = np.repeat(rng.uniform(1.0, 3.0, EPOCHS // 3), 3)
    own_s = np.exp(rng.normal(0.0, 0.1, EPOCHS))

    stored = judged({"compute": 0.1 * load, "callbacks": 0.9 * load}, own_s)

    assert states(stored, "epoch_time") == []
