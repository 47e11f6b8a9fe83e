"""Verdicts on times that were recorded: the part that is slower now, and jump or steady growth."""

import numpy as np
import pytest
from msgspec.structs import replace

from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor.ui.events.event_text import describe_event
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor.ui.verdicts.verdict_text import evidence_lines, verdict_headline
from kmonitor_agent.wire.messages.events import (
    EpochEnded,
    EpochParts,
    EpochStarted,
    FieldSource,
    FieldSources,
    FitStarted,
    FunctionTraces,
    GraphSize,
    Sample,
    StepTimes,
    Verdict,
)

STEPS = 100

ITERATORS_START_S = [
    *(0.09, 0.05, 0.04, 0.58, 0.02, 0.03, 0.07, 0.02, 0.45, 0.08, 0.10, 0.63, 0.58, 2.16, 0.03),
    *(0.08, 0.03, 0.03, 0.03, 2.51, 0.04, 0.05, 2.64, 2.62, 0.03, 0.06, 2.28, 0.03, 2.37, 0.26),
]
"""Wait for the first batches of epochs, as arrays were iterated on a machine with two cores."""

HEAVIER_FROM_13_S = [
    *(0.57, 0.58, 0.66, 0.51, 0.66, 0.80, 0.64, 0.69, 0.58, 0.63, 0.69, 0.63, 2.66, 2.63, 2.66),
    *(2.76, 2.25, 2.60, 2.53, 3.19, 2.46, 2.67, 2.26, 3.14, 2.47, 2.73, 2.74, 2.68, 2.81, 2.42),
]
"""Computing, where each step does eight times the work from the thirteenth epoch on."""

TWICE_FROM_13_S = [
    *(0.55, 1.20, 0.51, 0.63, 0.64, 0.96, 0.59, 0.59, 0.78, 0.58, 0.60, 0.60, 1.49, 1.63, 1.68),
    *(1.61, 1.70, 1.56, 1.53, 1.52, 1.47, 1.77, 1.70, 1.53, 2.02, 2.09, 2.61, 1.74, 1.72, 1.94),
]

NOT_PREFETCHED_FROM_15_S = [
    *(0.16, 0.14, 0.74, 0.08, 0.46, 0.08, 0.05, 0.08, 0.16, 0.22, 0.27, 0.28, 0.80, 0.18, 0.74),
    *(0.62, 0.60, 1.01, 0.72, 0.62, 0.67, 0.81, 0.68, 0.68, 0.74, 0.72, 0.72, 0.65, 0.72, 0.63),
    *(0.62, 0.86, 0.70, 0.66, 0.71, 0.69),
]
FIRST_OF_THEM_S = [
    *(0.03, 0.14, 0.55, 0.03, 0.42, 0.04, 0.05, 0.07, 0.03, 0.07, 0.17, 0.09, 0.68, 0.04, 0.01),
    *(0.03, 0.10, 0.07, 0.03, 0.03, 0.04, 0.09, 0.04, 0.03, 0.05, 0.10, 0.03, 0.06, 0.23, 0.03),
    *(0.03, 0.22, 0.05, 0.04, 0.04, 0.03),
]
AUGMENTED_FROM_13_S = [
    *(0.36, 0.67, 0.48, 0.60, 0.65, 0.43, 0.46, 0.57, 0.33, 0.50, 0.67, 0.53, 2.34, 1.70, 1.02),
    *(1.26, 0.92, 0.94, 1.04, 0.73, 0.70, 0.77, 0.76, 0.74, 0.71, 1.00, 1.21, 0.91, 0.70, 1.44),
]
AUGMENTED_INPUT_FROM_13_S = [
    *(0.18, 0.16, 0.58, 0.01, 0.64, 0.60, 0.03, 0.06, 0.02, 0.02, 0.14, 0.62, 0.97, 4.51, 1.08),
    *(1.87, 0.39, 1.58, 1.53, 0.51, 1.63, 1.36, 1.15, 1.66, 1.62, 0.06, 1.76, 0.98, 1.37, 2.95),
]
"""Computing and the wait for input, where a callback turns augmentation on at epoch 13."""

GROWING_READ_S = [
    *(0.18, 0.08, 0.10, 0.52, 0.40, 0.50, 0.97, 0.91, 0.28, 0.41, 0.34, 0.63, 0.64, 1.08, 0.97),
    *(1.24, 0.66, 1.40, 0.64, 0.97, 1.14, 0.89, 0.93, 0.98, 0.97, 1.32, 1.58, 1.91, 1.63, 2.04),
]
"""Wait for input, where each epoch reads a compressed file from a place further on."""


def judged(  # noqa: PLR0913 - all that a run is made of, by keyword
    compute_s: list[float],
    input_s: list[float],
    *,
    first_s: list[float] | None = None,
    traced_in: int | None = None,
    cpu_wait: float | None = None,
    own_s: list[float] | None = None,
    device: str = "",
    data_python: str = "",
) -> list[Verdict]:
    """The stored verdicts on times; the wait for first batches is in no median step."""
    judge, t_s, stored = RunJudge(), 0.0, list[Verdict]()
    fit = FitStarted(t_s=0.0, fit=1, model="m", epochs=99, steps=STEPS, data_python=data_python)
    judge.read(0.0, fit)
    if device:
        source = FieldSource("allocator_in_use_bytes", "bytes", f"tensorflow: {device}")
        judge.read(0.0, FieldSources(t_s=0.0, sources=[source]))
    for epoch, (computed_s, waited_s) in enumerate(zip(compute_s, input_s, strict=False)):
        judge.read(t_s, EpochStarted(t_s=t_s, fit=1, epoch=epoch))
        stored += judge.judge()
        first = 0.0 if first_s is None else first_s[epoch]
        wall_s = computed_s + waited_s
        t_s += wall_s
        operations = 800 + 500 * (traced_in is not None and epoch >= traced_in)
        functions = [FunctionTraces("train", 2, operations)]
        graph = GraphSize(
            t_s=t_s,
            fit=1,
            epoch=epoch,
            operations=operations,
            traces=2,
            functions=1,
            by_function=functions,
        )
        judge.read(t_s, graph)
        if cpu_wait is not None:
            judge.read(t_s, Sample(t_s=t_s, fit=1, epoch=epoch, cpu_wait_fraction=cpu_wait))
        step_s = (computed_s + waited_s - first) / STEPS
        times = StepTimes(STEPS - 2, step_s, step_s, step_s, step_s, step_s)
        parts = EpochParts(
            wall_s=wall_s,
            input_s=waited_s,
            compute_s=computed_s,
            first_input_s=first,
            cpu_s=None if own_s is None else own_s[epoch],
        )
        ended = EpochEnded(t_s, 1, epoch, wall_s, STEPS, step_times=times, parts=parts)
        judge.read(t_s, replace(ended, allocator_in_use_bytes=1e6 if device else None))
    judge.read(t_s, EpochStarted(t_s=t_s, fit=1, epoch=99))
    stored += judge.judge()
    return [each for each in stored if each.metric in {"epoch_time", "step_time"}]


def alarms(stored: list[Verdict], metric: str = "epoch_time") -> list[Verdict]:
    return [each for each in stored if each.metric == metric and each.state == "growing"]


def test_trend_names_no_part_beside_one_that_has_just_jumped():
    stored = judged(HEAVIER_FROM_13_S, ITERATORS_START_S, first_s=ITERATORS_START_S)

    for metric in ("epoch_time", "step_time"):
        called = alarms(stored, metric)
        assert {each.where for each in called} == {"compute"}
        assert (called[0].unit, called[0].since) == (17, 13)


@pytest.mark.parametrize(
    ("compute_s", "input_s"),
    [
        (
            [0.80, 0.70, 0.89, 1.03, 0.73, 0.86, 0.84, 0.94, 1.13, 0.93, 1.48, 1.15, 1.12],
            [0.16, 0.06, 0.02, 0.02, 0.05, 0.45, 0.06, 0.39, 0.23, 1.30, 0.28, 1.05, 0.07],
        ),
        (
            [1.94, 0.87, 0.78, 0.95, 1.01, 1.00, 1.26, 1.01, 1.05, 0.72, 1.67, 1.68, 1.04],
            [0.14, 0.19, 0.56, 0.27, 0.17, 0.07, 0.10, 1.33, 0.73, 1.52, 0.19, 0.37, 0.46],
        ),
    ],
)
def test_noise_of_the_wait_for_first_batches_is_no_jump(
    compute_s: list[float], input_s: list[float]
):
    assert alarms(judged(compute_s, input_s, first_s=input_s)) == []


def test_part_that_makes_it_slow_now_is_named_in_a_new_verdict():
    input_s = [0.1] * 10 + [0.9] * 30
    compute_s = [0.5] * 25 + [5.0] * 15

    lines = [describe_event(each, "m") for each in judged(compute_s, input_s)]

    said = [line.text for line in lines if line is not None and "Epoch time" in line.text]
    assert len(said) == 2
    assert "slower since epoch 11: more time is spent waiting for input" in said[0]
    assert "slower since epoch 26: more time is spent on compute" in said[1]


def test_functions_that_were_traced_again_explain_a_jump_of_computing():
    stored = judged(TWICE_FROM_13_S, [0.05] * 30, traced_in=12)

    for metric in ("epoch_time", "step_time"):
        (first, *_) = alarms(stored, metric)
        assert (first.unit, first.since, first.cause) == (17, 13, "traced_again")
        assert verdict_headline(first) == (
            "slower since epoch 13: more time is spent on compute; a function was replaced or"
            " traced again in that epoch"
        )
        evidence = with_plain_spaces("\n".join(evidence_lines(first)))
        assert "operations in live traces +500 in epoch 13" in evidence
        assert "not proven to be the cause" in evidence
        assert first.advice == ["look_at_change"]


def test_traces_are_evidence_of_a_jump_that_a_busy_machine_blurs():
    """Recorded: layers were made trainable, and the model compiled again, in epoch 13."""
    compute_s = [0.46, 0.30, 0.33, 0.36, 0.31, 0.29, 0.34, 0.25, 0.32, 0.29, 0.32, 0.36]
    compute_s += [0.80, 0.85, 0.96, 0.54, 0.76, 0.91, 0.93, 0.85, 0.89, 0.83, 0.90, 0.74]

    (first, *_) = alarms(judged(compute_s, [0.05] * 24, traced_in=12))

    assert (first.unit, first.since, first.cause) == (17, 13, "traced_again")
    assert alarms(judged(compute_s[:17], [0.05] * 17)) == []


def test_traces_before_or_after_a_jump_do_not_explain_it():
    for traced_in in (10, 14):
        (first, *_) = alarms(judged(HEAVIER_FROM_13_S, [0.05] * 30, traced_in=traced_in))
        assert first.cause == "unknown"


def test_clean_jump_of_computing_is_called_where_no_other_process_explains_it():
    compute_s = [0.6, 0.62, 0.58, 0.61] * 3 + [1.45, 1.5, 1.48, 1.52] * 5

    (first, *_) = alarms(judged(compute_s, [0.05] * 32, cpu_wait=0.05), "step_time")
    assert (first.unit, first.since, first.where) == (17, 13, "compute")
    assert alarms(judged(compute_s[:20], [0.05] * 32), "step_time") == []
    assert alarms(judged(TWICE_FROM_13_S[:20], [0.05] * 32, cpu_wait=0.05), "step_time") == []


@pytest.mark.parametrize(
    ("input_s", "rate_s"),
    [([0.05 + 0.1 * epoch for epoch in range(30)], 0.1), (GROWING_READ_S, 0.05)],
    ids=["even", "noisy"],
)
def test_steady_growth_is_said_with_its_rate(input_s: list[float], rate_s: float):
    called = alarms(judged([0.14] * 30, input_s))

    assert called
    assert called[0].unit <= 10
    assert {each.since for each in called} == {0}
    assert called[-1].slope == pytest.approx(rate_s, rel=0.3)


def test_growth_that_begins_after_a_while_is_said_with_its_rate():
    input_s = [0.1] * 12 + [0.1 + 0.1 * epoch for epoch in range(24)]

    called = alarms(judged([0.4] * 36, input_s))

    assert called[-1].since == 0
    assert called[-1].slope == pytest.approx(0.1, rel=0.2)


def test_noise_after_a_jump_is_no_growth():
    stored = judged(AUGMENTED_FROM_13_S, AUGMENTED_INPUT_FROM_13_S)

    for metric in ("epoch_time", "step_time"):
        called = alarms(stored, metric)
        assert {each.since for each in called} == {13}
        assert {each.where for each in called} == {"input"}


def test_alarm_goes_on_while_the_part_takes_as_long():
    stored = judged([0.5] * 36, NOT_PREFETCHED_FROM_15_S, first_s=FIRST_OF_THEM_S)

    for metric in ("epoch_time", "step_time"):
        states = [each.state for each in stored if each.metric == metric]
        assert "growing" in states
        assert "cleared" not in states
        last = alarms(stored, metric)[-1]
        assert (last.since, last.where) == (15, "input")


def test_growth_that_stops_high_is_a_level_and_ends_when_it_is_fast_again():
    high_s = [0.1 + 0.1 * min(epoch, 15) for epoch in range(35)]

    stays = judged([0.5] * 35, high_s)
    ends = judged([0.5] * 50, [*high_s, *[0.1] * 15])

    assert {each.state for each in stays[-2:]} == {"growing"}
    assert alarms(stays)[-1].since > 0
    assert verdict_headline(alarms(stays)[-1]).startswith("slower since epoch")
    assert [each.state for each in ends if each.metric == "epoch_time"][-1] == "cleared"


def test_end_of_a_slowdown_says_nothing_of_buffers():
    verdict = Verdict(
        t_s=1.0, metric="epoch_time", state="cleared", per="epoch", units=30, unit=30, slope=0.01
    )

    for why_not in ("steps", "bending"):
        lines = "\n".join(evidence_lines(replace(verdict, why_not=why_not)))
        assert "buffers" not in lines
        assert "cache" not in lines


def busy_machine(seed: int, epochs: int = 36) -> np.ndarray:
    """Factors by which other processes lengthen epochs, up to 2.5, in stretches."""
    rng = np.random.default_rng(seed)
    stretches = np.repeat(rng.uniform(1.0, 2.5, epochs // 4), 4)
    return stretches * np.exp(rng.normal(0.0, 0.1, epochs))


@pytest.mark.parametrize("seed", range(6))
def test_work_of_the_process_that_grows_is_called_on_a_busy_machine(seed: int):
    work_s = np.array([0.1 + 0.03 * epoch for epoch in range(36)])
    compute_s = list(work_s * busy_machine(seed))

    called = alarms(judged(compute_s, [0.02] * 36, own_s=list(1.1 * work_s), cpu_wait=0.4))

    assert called[0].unit <= 15
    assert {(each.where, each.cause) for each in called} == {("compute", "own_work")}
    assert called[0].advice == ["look_at_work"]


@pytest.mark.parametrize("seed", range(6))
def test_threads_that_wait_for_a_busy_machine_are_no_unknown_cause(seed: int):
    busier = np.linspace(1.0, 2.6, 36) * np.exp(np.random.default_rng(seed).normal(0.0, 0.1, 36))

    for cpu_wait, cause in ((0.2, "busy"), (0.01, "unknown")):
        stored = judged(list(busier), [0.05] * 36, own_s=[0.9] * 36, cpu_wait=cpu_wait)
        assert {each.cause for each in alarms(stored)} <= {cause}
        assert len(alarms(stored)) > 0 or cause == "busy"


@pytest.mark.parametrize(("data_python", "where"), [("map", "input"), ("", "compute")])
def test_pythons_data_that_hold_up_the_steps_are_the_input(data_python: str, where: str):
    work_s = np.array([0.1 + 0.02 * epoch for epoch in range(36)])

    called = alarms(
        judged(
            list(0.1 + 0.6 * work_s),
            list(0.1 + 0.4 * work_s),
            own_s=list(0.1 + work_s),
            data_python=data_python,
        )
    )

    assert {each.where for each in called} == {where}


def test_waiting_for_a_gpu_is_no_work_of_the_process():
    seconds = [0.5 + 0.02 * epoch for epoch in range(36)]

    found: dict[str, set[str]] = {}
    for device in ("CPU:0", "GPU:0"):
        stored = judged(seconds, [0.02] * 36, own_s=seconds, device=device)
        found[device] = {each.cause for each in stored}

    assert "own_work" in found["CPU:0"]
    assert "own_work" not in found["GPU:0"]


@pytest.mark.parametrize("seed", range(6))
def test_other_processes_are_no_work_of_this_one(seed: int):
    load = np.linspace(1.0, 2.5, 36) * busy_machine(seed) / 1.7
    rng = np.random.default_rng(seed)
    own_s = list(0.5 * np.exp(rng.normal(0.0, 0.1, 36)))

    stored = judged(list(0.5 * load), [0.02] * 36, own_s=own_s)

    assert "own_work" not in {each.cause for each in stored}


def test_one_slow_epoch_long_before_hides_no_jump():
    compute_s = [0.4, 0.42, 3.0, 0.41, 0.39, 0.42, 0.4, 0.38, 0.41, 0.4] + [0.4] * 20
    callbacks_s = [0.02] * 10 + [0.9] * 20

    for slow_s, found in ((callbacks_s, 11), (callbacks_s[:13], 0)):
        called = alarms(judged(compute_s, slow_s))
        assert {each.since for each in called} == ({found} if found else set())
