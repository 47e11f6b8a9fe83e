"""Verdicts on times that were recorded on two cores that other processes used as well."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor.hub.judge.verdicts import differs
from kmonitor_agent.wire.messages.events import (
    EpochEnded,
    EpochParts,
    EpochStarted,
    FitStarted,
    Sample,
    StepTimes,
    Verdict,
)
from kmonitor_agent.wire.messages.verdict_events import VerdictMetric

STEPS = 40

AUGMENTED_FROM_15_S = [
    *(0.44, 0.44, 0.44, 0.50, 0.44, 0.40, 0.46, 0.51, 0.55, 0.63, 0.58, 0.54, 0.55, 0.57, 1.29),
    *(1.38, 1.39, 1.93, 1.26, 1.35, 1.35, 1.20, 1.29, 1.31, 1.33, 1.09, 1.24, 1.19, 1.11, 1.15),
]
CORES_OF_AUGMENTED = [
    *(1.01, 1.39, None, 1.20, None, 1.22, None, 1.16, 0.93, None, 0.78, 0.85, None, 0.77, 1.05),
    *(0.86, 1.05, 1.02, 0.96, 0.96, 0.88, 0.90, 1.13, 0.85, 1.01, 1.08, 0.96, 0.96, 1.13, 0.90),
]
"""Computing with the wait for input, and processors that the process kept busy, where a
`PyDataset` with two workers augments its batches from the fifteenth epoch on."""

AUGMENTED_AGAIN_S = [
    *(0.53, 0.58, 0.60, 0.49, 0.53, 0.53, 0.50, 0.54, 0.49, 0.52, 0.52, 0.58, 0.52, 0.49, 1.32),
    *(1.00, 1.34, 1.40, 1.65, 1.14, 0.98, 1.19, 1.08, 0.96, 1.20, 1.51, 1.08, 1.25, 1.10, 1.30),
]
CORES_OF_AUGMENTED_AGAIN = [
    *(0.92, 0.91, 0.67, None, 0.92, None, 0.81, 0.88, None, 0.80, 0.90, None, 0.77, None, 0.94),
    *(1.00, 1.17, 1.25, 1.22, 1.22, 1.30, 1.19, 1.23, 1.21, 0.92, 0.93, 0.99, 0.97, 0.96, 0.94),
]

NEIGHBOUR_FROM_13_S = [
    *(1.31, 1.15, 1.01, 1.07, 1.29, 1.21, 1.07, 1.14, 1.14, 0.98, 1.02, 1.08),
    *(2.83, 2.76, 2.24, 2.27, 2.48, 2.56, 3.16, 3.13),
]
CORES_BESIDE_NEIGHBOUR = [
    *(0.78, 0.92, 0.92, 1.11, 0.86, 0.81, 1.01, 0.97, 0.97, 1.06, 1.20, 0.97),
    *(0.45, 0.42, 0.56, 0.47, 0.43, 0.42, 0.38, 0.36),
]
"""The same where another process takes both cores from the thirteenth epoch on."""

LONGER_LIST_INPUT_S = [
    *(0.139, 0.132, 0.123, 0.127, 0.149, 0.140, 0.164, 0.181, 0.161, 0.182, 0.141, 0.182, 0.201),
    *(0.202, 0.222, 0.189, 0.166, 0.193, 0.340, 0.201, 0.248, 0.251, 0.191, 0.233, 0.204, 0.247),
]
LONGER_LIST_COMPUTE_S = [
    *(0.056, 0.102, 0.076, 0.070, 0.065, 0.069, 0.064, 0.089, 0.076, 0.075, 0.074, 0.068, 0.057),
    *(0.063, 0.102, 0.097, 0.136, 0.067, 0.077, 0.104, 0.079, 0.065, 0.097, 0.081, 0.116, 0.059),
]
"""Input that looks through a list which gets longer, beside computing that scatters more."""

REPLAY_BETWEEN_S = [
    *(0.000, 0.124, 0.091, 0.125, 0.159, 0.139, 0.081, 0.175, 0.141, 0.180, 0.146, 0.079, 0.134),
    *(0.173, 0.153, 0.165, 0.165, 0.126, 0.127, 0.113, 0.315, 0.114, 0.155, 0.167, 0.192, 0.238),
    *(0.175, 0.299, 0.269, 0.389, 0.291, 0.362),
]
REPLAY_COMPUTE_S = [
    *(0.059, 0.084, 0.082, 0.082, 0.084, 0.079, 0.079, 0.077, 0.084, 0.080, 0.082, 0.085, 0.083),
    *(0.091, 0.083, 0.083, 0.083, 0.086, 0.077, 0.097, 0.084, 0.107, 0.084, 0.089, 0.086, 0.089),
    *(0.184, 0.108, 0.323, 0.102, 0.085, 0.087),
]
"""Time before each fit in which a list that gets longer becomes an array."""

AVERAGED_CALLBACKS_S = [
    *(0.035, 0.076, 0.026, 0.088, 0.034, 0.133, 0.063, 0.133, 0.185, 0.127, 0.083, 0.177, 0.109),
    *(0.122, 0.100, 0.154, 0.091, 0.164, 0.131, 0.127, 0.158, 0.133, 0.122, 0.232, 0.155, 0.391),
    *(0.158, 0.142, 0.173),
]
"""A callback that averages the weights of all epochs so far."""

READ_FROM_FURTHER_ON_S = [
    *(0.101, 0.010, 0.005, 0.000, 0.006, 0.001, 0.006, 0.012, 0.370, 0.062, 0.223, 0.111, 0.154),
    *(0.138, 0.144, 0.177, 0.212, 0.179, 0.261, 0.194, 0.228, 0.249, 0.306, 0.332, 0.289, 0.297),
    *(0.343, 0.287, 0.419, 0.276, 0.348, 0.451),
]
BESIDE_READ_S = [
    *(0.079, 0.125, 0.235, 0.092, 0.104, 0.110, 0.130, 0.139, 0.155, 0.233, 0.283, 0.280, 0.231),
    *(0.211, 0.211, 0.260, 0.454, 0.281, 0.190, 0.261, 0.191, 0.159, 0.186, 0.278, 0.159, 0.141),
    *(0.175, 0.150, 0.341, 0.388, 0.387, 0.247),
]
READ_STEPS_S = [
    *(0.0028, 0.0033, 0.0024, 0.0022, 0.0024, 0.0023, 0.0033, 0.0029, 0.0041, 0.0063, 0.0062),
    *(0.0069, 0.0071, 0.0088, 0.0074, 0.0090, 0.0107, 0.0093, 0.0116, 0.0086, 0.0095, 0.0099),
    *(0.0107, 0.0118, 0.0107, 0.0107, 0.0126, 0.0105, 0.0142, 0.0142, 0.0123, 0.0147),
]
"""Input that reads a file from a place further on in each epoch, computing, and median steps."""


def judged(
    parts_s: dict[str, list[float]],
    *,
    cores: Sequence[float | None] | None = None,
    has_input: bool = True,
    rest_s: float = 0.02,
    steps_s: list[float] | None = None,
) -> list[Verdict]:
    """The stored verdicts on times, with one reading of the processor time in an epoch."""
    judge, t_s, stored = RunJudge(), 0.0, list[Verdict]()
    judge.read(0.0, FitStarted(t_s=0.0, fit=1, model="m", epochs=99, steps=STEPS))
    epochs = len(parts_s["compute"])
    for epoch in range(epochs):
        judge.read(t_s, EpochStarted(t_s=t_s, fit=1, epoch=epoch))
        stored += judge.judge()
        seconds = {name: values[epoch] for name, values in parts_s.items()}
        wall_s = sum(seconds.values()) + rest_s
        t_s += wall_s
        if cores is not None and cores[epoch] is not None:
            judge.read(t_s, Sample(t_s=t_s, fit=1, epoch=epoch, cpu_cores=cores[epoch]))
        step_s = (wall_s - rest_s) / STEPS if steps_s is None else steps_s[epoch]
        times = StepTimes(STEPS - 2, step_s, step_s, step_s, step_s, step_s)
        parts = EpochParts(
            wall_s=wall_s,
            input_s=seconds.get("input", 0.02) if has_input else None,
            compute_s=seconds["compute"],
            callbacks_s=seconds.get("callbacks", 0.0),
            between_epochs_s=seconds.get("between_epochs", 0.0),
            rest_s=rest_s,
        )
        judge.read(t_s, EpochEnded(t_s, 1, epoch, wall_s, STEPS, step_times=times, parts=parts))
    judge.read(t_s, EpochStarted(t_s=t_s, fit=1, epoch=epochs))
    stored += judge.judge()
    return stored


def alarms(stored: list[Verdict], metric: str = "epoch_time") -> list[Verdict]:
    return [each for each in stored if each.metric == metric and each.state == "growing"]


@pytest.mark.parametrize(
    ("compute_s", "cores"),
    [
        (AUGMENTED_FROM_15_S, CORES_OF_AUGMENTED),
        (AUGMENTED_AGAIN_S, CORES_OF_AUGMENTED_AGAIN),
    ],
)
def test_jump_of_computing_is_called_where_the_process_works_more(
    compute_s: list[float], cores: list[float | None]
):
    stored = judged({"compute": compute_s}, cores=cores, has_input=False, rest_s=0.12)

    for metric in ("epoch_time", "step_time"):
        called = alarms(stored, metric)
        assert (called[0].unit, called[0].since) == (19, 15)
        assert {each.since for each in called} == {15}


def test_computing_beside_another_process_is_not_called_where_it_works_no_more():
    stored = judged({"compute": NEIGHBOUR_FROM_13_S}, cores=CORES_BESIDE_NEIGHBOUR)

    assert alarms(stored) == []


def test_input_is_judged_as_measured_beside_computing_that_scatters():
    stored = judged({"compute": LONGER_LIST_COMPUTE_S, "input": LONGER_LIST_INPUT_S})

    for metric in ("epoch_time", "step_time"):
        (first, *_) = alarms(stored, metric)
        assert first.unit <= 15
        assert first.where == "input"


def test_time_before_fits_is_judged_as_measured():
    parts = {"compute": REPLAY_COMPUTE_S, "between_epochs": REPLAY_BETWEEN_S}

    (first, *_) = alarms(judged(parts, rest_s=0.04))

    assert first.where == "between_epochs"


def test_callback_is_judged_from_the_second_epoch_on():
    parts = {"compute": [0.69] * len(AVERAGED_CALLBACKS_S), "callbacks": AVERAGED_CALLBACKS_S}

    (first, *_) = alarms(judged(parts))

    assert first.where == "callbacks"


def test_rate_is_that_of_the_newest_epochs():
    parts = {"compute": BESIDE_READ_S, "input": READ_FROM_FURTHER_ON_S}

    last = alarms(judged(parts, steps_s=READ_STEPS_S), "step_time")[-1]

    assert last.unit > 25
    assert last.to_s == last.t_s


@pytest.mark.parametrize(("metric", "is_stored"), [("epoch_time", True), ("ram", False)])
def test_slowdown_is_stored_again_where_it_lasts_longer(metric: VerdictMetric, *, is_stored: bool):
    before = Verdict(
        t_s=1.0,
        metric=metric,
        state="growing",
        per="epoch",
        units=20,
        unit=20,
        slope=0.01,
        window=17,
    )

    assert differs(before, replace(before, unit=30, units=30, window=27)) is is_stored
