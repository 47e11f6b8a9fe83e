"""Verdicts on the time of epochs and steps: trends, jumps, the part that grew, and twins."""

import math
from collections.abc import Callable, Iterator
from typing import TypedDict, Unpack

import numpy as np
import pytest

from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor.hub.judge.slowness.jumps import find_jump
from kmonitor.ui.events.event_text import describe_event
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor.ui.verdicts.verdict_text import advice_of, evidence_lines, verdict_headline
from kmonitor_agent.wire.messages.events import (
    CallbackTime,
    EpochEnded,
    EpochParts,
    EpochStarted,
    FitEnded,
    FitStarted,
    FunctionTraces,
    GraphSize,
    KeptObjects,
    ObjectsCounted,
    Sample,
    StepTimes,
    Verdict,
)

STEPS = 100
Parts = Callable[[int], dict[str, float]]


def verdicts(  # noqa: PLR0913 - all that a run is made of, by keyword
    parts_of: Parts,
    *,
    epochs: int = 40,
    callback: str = "Recorder",
    kept: int = 0,
    scatter: float = 0.02,
    seed: int = 3,
    of_steps: tuple[str, ...] = ("input", "compute", "callbacks"),
    data_kind: str = "",
    traces: Callable[[int], int] = lambda epoch: 2,
    changed: str = "",
    cpu_wait: Callable[[int], float] | None = None,
) -> Iterator[Verdict]:
    """The stored verdicts on epoch and step time, in order; trained as far as requested."""
    rng, judge, t_s = np.random.default_rng(seed), RunJudge(), 0.0
    plan = FitStarted(t_s=0.0, fit=1, model="m", epochs=epochs, steps=STEPS, data_kind=data_kind)
    judge.read(0.0, plan)
    for epoch in range(epochs):
        judge.read(t_s, EpochStarted(t_s=t_s, fit=1, epoch=epoch))
        yield from (each for each in judge.judge() if each.metric in {"epoch_time", "step_time"})
        usual = {"input": 0.1, "compute": 0.5, "callbacks": 0.05, "rest": 0.02}
        times = {k: s for k, s in (usual | parts_of(epoch)).items() if s >= 0.0}
        first_s = times.pop("first_input", 0.0)
        noisy = {
            name: each * float(np.exp(rng.normal(0.0, scatter))) for name, each in times.items()
        }
        t_s += sum(noisy.values())
        if cpu_wait is not None:
            judge.read(t_s, Sample(t_s=t_s, fit=1, epoch=epoch, cpu_wait_fraction=cpu_wait(epoch)))
        judge.read(t_s, graph_of(t_s, epoch, traces(epoch), changed))
        if kept:
            place = "Recorder.losses"
            numbers = KeptObjects("number", kept * epoch, container="list", place=place)
            judge.read(t_s, ObjectsCounted(t_s=t_s, fit=1, epoch=epoch, kept=[numbers]))
        step_s = sum(noisy.get(each, 0.0) for each in of_steps) / STEPS
        judge.read(
            t_s,
            EpochEnded(
                t_s=t_s,
                fit=1,
                epoch=epoch,
                seconds=sum(noisy.values()),
                steps=STEPS,
                step_times=StepTimes(STEPS - 2, step_s, step_s, step_s, step_s, step_s),
                parts=EpochParts(
                    wall_s=sum(noisy.values()),
                    first_input_s=first_s,
                    callbacks=[CallbackTime(callback, noisy["callbacks"])],
                    **{f"{name}_s": seconds for name, seconds in noisy.items()},
                ),
            ),
        )


def graph_of(t_s: float, epoch: int, traces: int, changed: str) -> GraphSize:
    by_function = [FunctionTraces("scale", traces, 10 * traces, changed=changed)]
    return GraphSize(
        t_s=t_s,
        fit=1,
        epoch=epoch,
        operations=10 * traces,
        traces=traces,
        functions=1,
        by_function=by_function,
    )


class Training(TypedDict, total=False):
    """Keywords of `verdicts`."""

    epochs: int
    kept: int
    scatter: float
    seed: int
    of_steps: tuple[str, ...]
    data_kind: str
    traces: Callable[[int], int]
    changed: str
    cpu_wait: Callable[[int], float]


def judged(parts_of: Parts, **training: Unpack[Training]) -> list[Verdict]:
    """All verdicts of a whole training."""
    return list(verdicts(parts_of, **training))


def alarms(stored: list[Verdict], metric: str) -> list[Verdict]:
    return [each for each in stored if each.metric == metric and each.state == "growing"]


def test_callback_that_takes_ever_longer_is_named_with_its_class():
    stored = judged(lambda epoch: {"callbacks": 0.05 + 0.02 * epoch})

    (first, *_) = alarms(stored, "step_time")
    assert first.unit <= 15
    assert (first.cause, first.where, first.name) == ("part", "callbacks", "Recorder")
    assert verdict_headline(first) == "slowing down: more time is spent in callbacks (Recorder)"
    assert [each.text for each in advice_of(first)] == [
        "run Recorder less often, for example, every n steps or epochs"
    ]


def test_growth_of_a_part_is_said_a_step_and_an_epoch():
    stored = judged(lambda epoch: {"callbacks": 0.05 + 0.03 * epoch})

    (of_steps, *_), (of_epochs, *_) = (
        alarms(stored, f"{each}_time") for each in ("step", "epoch")
    )
    assert of_epochs.slope == pytest.approx(0.03, rel=0.2)
    assert of_steps.slope == pytest.approx(0.03 / STEPS, rel=0.2)
    assert of_steps.rise == pytest.approx(of_epochs.rise / STEPS, rel=0.5)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("part", "first"), [("callbacks", 3), ("between_epochs", 20), ("input", 12)]
)
def test_level_of_one_part_is_found_in_the_noise_of_the_others(part: str, first: int, seed: int):
    usual = 0.1 if part == "input" else 0.05

    def parts(epoch: int) -> dict[str, float]:
        return {part: usual + (0.3 if epoch >= first else 0.0)}

    stored = judged(parts, epochs=first + 15, scatter=0.15, seed=seed)

    (found, *_) = alarms(stored, "epoch_time")
    assert found.where == part
    assert found.unit <= first + 6


def test_part_that_is_slow_for_some_epochs_only_makes_no_level():
    stored = judged(
        lambda epoch: {"callbacks": 0.4 if epoch in (3, 4, 5, 9, 10, 17, 18, 19) else 0.05},
        epochs=30,
        scatter=0.1,
    )

    assert alarms(stored, "epoch_time") == []


def test_callback_that_takes_its_time_at_the_end_of_epochs_makes_no_step_slower():
    stored = judged(
        lambda epoch: {"callbacks": 0.05 + 0.03 * epoch}, of_steps=("input", "compute")
    )

    assert alarms(stored, "epoch_time")
    assert alarms(stored, "step_time") == []


def test_callback_that_sleeps_is_not_called_where_computing_was_slower_at_first():
    compute_ms = [41, 42.9, 45.1, 46.1, 70, 42.7, 55.4, 51.9, 50.3, 39.5, 39.3, 45.4, 45]
    callback_ms = [
        406.4,
        405.5,
        406,
        405.9,
        407.9,
        405.5,
        409.8,
        406.1,
        407.3,
        409,
        405.7,
        413,
        406,
    ]

    def parts(epoch: int) -> dict[str, float]:
        return {
            "callbacks": 1e-3 * callback_ms[epoch],
            "compute": 1e-3 * compute_ms[epoch],
            "input": 0.013,
        }

    stored = judged(parts, epochs=len(compute_ms), scatter=0.0)

    assert not alarms(stored, "epoch_time")


def test_list_that_grows_while_a_callback_takes_longer_is_evidence():
    stored = judged(lambda epoch: {"callbacks": 0.05 + 0.02 * epoch}, kept=STEPS)

    last = alarms(stored, "step_time")[-1]
    assert (last.cause, last.name) == ("part", "Recorder")
    assert any(
        "number of retained objects (Recorder.losses) +100 / epoch" in with_plain_spaces(line)
        for line in evidence_lines(last)
    )


def test_what_happens_between_epochs_is_named():
    stored = judged(lambda epoch: {"between_epochs": 0.05 + 0.02 * epoch})

    (first, *_) = alarms(stored, "epoch_time")
    assert first.unit <= 15
    assert (first.cause, first.where) == ("part", "between_epochs")
    assert alarms(stored, "step_time") == []


@pytest.mark.parametrize("every", [1, 3])
def test_validation_that_takes_ever_longer_is_named(every: int):
    stored = judged(
        lambda epoch: {"validation": 0.0 if epoch % every else 0.2 + 0.06 * epoch}, epochs=60
    )

    (first, *_) = alarms(stored, "epoch_time")
    assert first.unit <= 15 * every
    assert (first.cause, first.where) == ("part", "validation")
    assert first.slope == pytest.approx(0.06, rel=0.25)
    assert verdict_headline(first) == "slowing down: more time is spent on validation"
    assert first.advice == ["validate_less"]


GROWING: dict[str, Parts] = {
    "input": lambda epoch: {"input": 0.05 + 0.05 * epoch},
    "callbacks": lambda epoch: {"callbacks": 0.05 + 0.03 * epoch},
    "validation": lambda epoch: {"validation": 0.1 + 0.06 * epoch},
    "between_epochs": lambda epoch: {"between_epochs": 0.01 + 0.05 * epoch},
}


def called_at(parts: Parts, *, scatter: float, seed: int, epochs: int = 40) -> float:
    """Epoch of the first alarm, with which the training ends; infinite without one."""
    stored = verdicts(parts, epochs=epochs, scatter=scatter, seed=seed)
    return next(
        (each.unit for each in stored if each.metric == "epoch_time" and each.state == "growing"),
        math.inf,
    )


@pytest.mark.parametrize("scatter", [0.02, 0.1])
@pytest.mark.parametrize("part", ["callbacks", "between_epochs", "validation", "checkpoints"])
def test_part_that_grows_clearly_is_called_by_the_fifteenth_epoch(part: str, scatter: float):
    units = [
        called_at(lambda epoch: {part: 0.05 + 0.02 * epoch}, scatter=scatter, seed=seed)
        for seed in range(4)
    ]

    assert max(units) <= 15


def test_epochs_of_a_quarter_second_are_called_as_soon():
    """The course of a log that is written whole at each end: 4.5 ms more each time."""
    quick = {"input": 0.04, "compute": 0.13, "rest": 0.02}
    units = [
        called_at(
            lambda epoch: quick | {"callbacks": 0.01 + 0.0045 * epoch}, scatter=0.05, seed=seed
        )
        for seed in range(6)
    ]

    assert max(units) <= 15


@pytest.mark.parametrize("part", ["between_epochs", "checkpoints", "validation"])
@pytest.mark.parametrize("seed", range(6))
def test_growth_is_called_as_soon_beside_a_machine_that_slows_down_now_and_then(
    seed: int, part: str
):
    """The course of a list that is sorted before each epoch, on two cores that others use too."""
    rng = np.random.default_rng(seed)
    slower = np.where(rng.random(40) < 0.25, 1.6, 1.0)
    pauses_s = np.where(rng.random(40) < 0.15, 0.2, 0.0)

    def parts(epoch: int) -> dict[str, float]:
        part_s = 0.07 + 0.014 * epoch
        return {
            "compute": 0.1 * slower[epoch],
            part: part_s * slower[epoch] + pauses_s[epoch],
        }

    assert called_at(parts, scatter=0.05, seed=seed) <= 15


@pytest.mark.parametrize("seed", range(6))
def test_part_is_not_called_beside_a_machine_that_is_slower_for_a_while(seed: int):
    def parts(epoch: int) -> dict[str, float]:
        slower = 1.6 if 20 + seed <= epoch < 34 else 1.0
        return {"compute": 0.1 * slower, "between_epochs": 0.2 * slower}

    assert called_at(parts, scatter=0.1, seed=seed) == math.inf


@pytest.mark.parametrize("begin", [30, 80])
def test_growth_that_begins_late_is_called_fifteen_epochs_later(begin: int):
    def grows(epoch: int) -> dict[str, float]:
        return {"callbacks": 0.05 + 0.03 * max(0, epoch - begin)}

    unit = called_at(grows, scatter=0.1, seed=3, epochs=begin + 16)

    assert begin < unit <= begin + 15


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scatter", [0.05, 0.2])
def test_steeper_growth_is_called_no_later(scatter: float, seed: int):
    units = [
        called_at(lambda epoch: {"callbacks": 0.05 + slope * epoch}, scatter=scatter, seed=seed)  # noqa: B023
        for slope in (0.01, 0.014, 0.02, 0.03, 0.05)
    ]

    assert units == sorted(units, reverse=True)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("slope", [0.01, 0.03])
def test_less_noise_delays_no_alarm(slope: float, seed: int):
    units = [
        called_at(lambda epoch: {"callbacks": 0.05 + slope * epoch}, scatter=scatter, seed=seed)
        for scatter in (0.02, 0.05, 0.1, 0.2, 0.4)
    ]

    assert units == sorted(units)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("part", GROWING)
def test_alarm_on_a_busy_machine_lasts_while_the_part_grows(part: str, seed: int):
    stored = judged(GROWING[part], epochs=45, scatter=0.2, seed=seed)

    of_epoch = [each for each in stored if each.metric == "epoch_time"]
    states = [each.state for each in of_epoch]
    since = states.index("growing")
    assert set(states[since:]) == {"growing"}
    assert {each.where for each in of_epoch[since:]} == {part}


@pytest.mark.parametrize("then", ["fast", "as slow"])
def test_alarm_on_a_rare_validation_ends_where_it_no_longer_grows(then: str):
    end = {"fast": 0, "as slow": 30}[then]

    def parts(epoch: int) -> dict[str, float]:
        seconds = 0.2 + 0.06 * (epoch if epoch < 30 else end)
        return {"validation": 0.0 if epoch % 3 else seconds}

    states = [each.state for each in judged(parts, epochs=75) if each.metric == "epoch_time"]

    assert "growing" in states
    assert states[-1] != "growing"


@pytest.mark.parametrize("part", GROWING)
def test_alarm_ends_where_the_part_no_longer_grows(part: str):
    grows = GROWING[part]
    stored = judged(lambda epoch: grows(epoch) if epoch < 20 else grows(0), epochs=45)

    states = [each.state for each in stored if each.metric == "epoch_time"]
    assert "growing" in states
    assert states[-1] == "cleared"


SLOWER_FOR_A_WHILE: dict[str, Parts] = {
    "input": lambda epoch: {"input": 1.5 if 10 <= epoch < 20 else 0.1},
    "callbacks": lambda epoch: {"callbacks": 0.9 if 10 <= epoch < 20 else 0.05},
}


@pytest.mark.parametrize("part", SLOWER_FOR_A_WHILE)
def test_end_of_a_slowdown_is_logged_once(part: str):
    stored = judged(SLOWER_FOR_A_WHILE[part], epochs=80)

    for metric in ("epoch_time", "step_time"):
        lines = [describe_event(each, "m") for each in stored if each.metric == metric]
        said = [each.text.split(": ")[1] for each in lines if each is not None]
        assert said == ["slower since epoch 11", "no longer slowing down"]


@pytest.mark.parametrize("since", [2, 3, 20])
def test_jump_of_the_input_is_called_with_its_epoch(since: int):
    stored = judged(lambda epoch: {"input": 2.5 if epoch >= since else 0.1})

    (first, *_) = alarms(stored, "epoch_time")
    assert first.unit <= since + 7
    assert (first.since, first.where) == (since + 1, "input")
    assert verdict_headline(first) == (
        f"slower since epoch {since + 1}: more time is spent waiting for input"
    )
    assert any("slower since epoch" in line for line in evidence_lines(first))


def test_jump_of_the_input_is_called_beside_another_process_that_slows_computing():
    fast, slow = {"input": 0.08, "compute": 0.04}, {"input": 0.55, "compute": 0.08}

    stored = judged(lambda epoch: slow if epoch >= 2 else fast, scatter=0.1)

    (first, *_) = alarms(stored, "epoch_time")
    assert (first.since, first.where) == (3, "input")


def test_slower_computing_has_an_open_cause():
    stored = judged(lambda epoch: {"compute": 0.5 + 0.02 * epoch})

    (first, *_) = alarms(stored, "step_time")
    assert (first.cause, first.sureness) == ("unknown", "open")
    assert "cause unknown; ruled out: waiting for input, callbacks" in verdict_headline(first)


UNKNOWN_INPUT = {"input": -1.0}
"""The wait for input is not known, and then part of computing."""


@pytest.mark.parametrize("scatter", [0.02, 0.1])
@pytest.mark.parametrize(
    ("kind", "advice"),
    [("pydataset", "more_workers"), ("dataset", "prefetch_dataset"), ("arrays", None)],
)
def test_jump_is_called_where_the_wait_for_input_is_not_known(
    kind: str, advice: str | None, scatter: float
):
    def parts(epoch: int) -> dict[str, float]:
        return UNKNOWN_INPUT | {"compute": 0.83 if epoch >= 7 else 0.24, "rest": 0.1}

    stored = judged(parts, data_kind=kind, scatter=scatter)

    for metric in ("epoch_time", "step_time"):
        (first, *_) = alarms(stored, metric)
        assert first.unit <= 13
        assert (first.since, first.where) == (8, "compute_and_input")
        assert first.advice == ([advice] if advice else [])
        assert verdict_headline(first).startswith(
            "slower since epoch 8: more time is spent on compute and waiting for input; cause"
            " unknown; ruled out: callbacks"
        )


@pytest.mark.parametrize(("times", "is_called"), [(2.4, False), (3.6, True)])
def test_jump_of_computing_is_called_where_it_takes_three_times_as_long(
    times: float, *, is_called: bool
):
    stored = judged(lambda epoch: {"compute": 0.5 * (times if epoch >= 12 else 1.0)})

    assert bool(alarms(stored, "step_time")) is is_called
    assert {each.where for each in alarms(stored, "epoch_time")} <= {"compute"}


@pytest.mark.parametrize("seed", range(4))
def test_computing_that_grows_with_the_wait_for_input_is_called_once_it_doubled(seed: int):
    def parts(epoch: int) -> dict[str, float]:
        return UNKNOWN_INPUT | {"compute": 0.22 + 0.035 * epoch, "rest": 0.1}

    stored = judged(parts, scatter=0.08, seed=seed, data_kind="pydataset")

    (first, *_) = alarms(stored, "epoch_time")
    assert first.unit <= 18
    assert (first.where, first.advice) == ("compute_and_input", ["more_workers"])


@pytest.mark.parametrize(
    ("waiting", "is_called"), [(lambda epoch: 0.03, True), (lambda epoch: 0.02 * epoch, False)]
)
def test_slow_growth_of_computing_is_called_where_no_other_process_explains_it(
    waiting: Callable[[int], float], *, is_called: bool
):
    def parts(epoch: int) -> dict[str, float]:
        return {"compute": 0.25 + 0.007 * epoch, "input": 0.25 if epoch % 3 == 0 else 0.02}

    stored = judged(parts, epochs=34, cpu_wait=waiting)

    assert bool(alarms(stored, "epoch_time")) is is_called
    for each in alarms(stored, "epoch_time"):
        assert (each.where, each.cause) == ("compute", "unknown")
        assert "waiting for a CPU" in verdict_headline(each)


def test_jump_that_is_partly_over_is_said_with_what_is_left_of_it():
    stored = judged(lambda epoch: {"input": 0.1 + (2.0 if epoch < 20 else 1.0) * (epoch >= 8)})

    last = [each for each in stored if each.metric == "epoch_time"][-1]
    assert last.since == 9
    assert last.rise == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize("every", [2, 3])
def test_growth_of_rare_validations_is_called_from_the_seventh_on(every: int):
    def parts(epoch: int) -> dict[str, float]:
        return {"validation": 0.14 + 0.02 * epoch} if epoch % every == every - 1 else {}

    stored = judged(parts)

    (first, *_) = alarms(stored, "epoch_time")
    assert first.unit <= 8 * every
    assert first.where == "validation"
    assert (first.where_part or 0.0) > 0.95


def test_part_that_grew_is_not_ruled_out():
    stored = judged(lambda epoch: {"compute": 0.5 + 0.02 * epoch, "input": 0.1 + 0.006 * epoch})

    (first, *_) = alarms(stored, "epoch_time")
    assert "ruled out: callbacks, compiling, between epochs" in verdict_headline(first)
    assert evidence_lines(first)[-1] != "Cause unknown"


def test_no_part_is_named_where_all_take_longer():
    stored = judged(
        lambda epoch: {
            name: seconds * (1.0 + 0.05 * epoch)
            for name, seconds in {"compute": 0.3, "input": 0.2, "callbacks": 0.25}.items()
        }
    )

    (first, *_) = alarms(stored, "epoch_time")
    assert (first.cause, first.where) == ("unknown", "")


@pytest.mark.parametrize(("kind", "advice"), [("pydataset", ["look_at_data"]), ("dataset", [])])
def test_what_the_data_does_at_the_end_of_epochs_is_called(kind: str, advice: list[str]):
    stored = judged(lambda epoch: {"rest": 0.1 + 0.04 * epoch}, data_kind=kind)

    (first, *_) = alarms(stored, "epoch_time")
    assert first.unit <= 15
    assert (first.cause, first.where, first.advice) == ("part", "rest", advice)
    assert alarms(stored, "step_time") == []


def test_retracing_is_evidence_of_a_jump():
    stored = judged(
        lambda epoch: {"callbacks": 0.7 if epoch >= 6 else 0.05},
        traces=lambda epoch: 2 + 34 * max(0, epoch - 5),
    )

    last = stored[-1]
    assert (last.since, last.where) == (7, "callbacks")
    assert "live traces (scale) +34 / epoch" in with_plain_spaces("\n".join(evidence_lines(last)))


@pytest.mark.parametrize("seed", range(4))
def test_computing_that_takes_many_times_as_long_is_called_on_a_busy_machine(seed: int):
    stored = judged(lambda epoch: {"compute": 0.2 + 0.07 * epoch}, scatter=0.2, seed=seed)

    for metric in ("epoch_time", "step_time"):
        (first, *_) = alarms(stored, metric)
        assert first.unit <= 30
        assert (first.cause, first.sureness, first.where) == ("unknown", "open", "compute")
    assert [each.state for each in stored][-1] == "growing"


@pytest.mark.parametrize("scatter", [0.02, 0.1])
def test_callback_that_works_in_each_third_epoch_ever_longer_is_named(scatter: float):
    stored = judged(
        lambda epoch: {"callbacks": 0.002 if epoch % 3 else 0.1 + 0.05 * epoch},
        epochs=45,
        scatter=scatter,
    )

    (first, *_) = alarms(stored, "epoch_time")
    assert first.unit <= 24
    assert (first.where, first.name) == ("callbacks", "Recorder")
    assert not [each for each in stored if each.metric == "epoch_time" and each.state == "cleared"]


def test_checkpoints_of_each_epoch_that_jump_are_called_four_epochs_after():
    stored = judged(lambda epoch: {"checkpoints": 0.3 if epoch < 15 else 0.9}, scatter=0.1)

    (first, *_) = alarms(stored, "epoch_time")
    assert (first.unit, first.since, first.where) == (20, 16, "checkpoints")
    assert first.rise == pytest.approx(0.6, rel=0.3)
    assert alarms(stored, "step_time") == []


def test_training_that_waits_for_its_input_is_told_so_while_it_is_steady():
    stored = judged(lambda _: {"input": 3.0})

    (last, *_) = [each for each in reversed(stored) if each.metric == "epoch_time"]
    assert last.state == "steady"
    assert verdict_headline(last).replace("\N{NARROW NO-BREAK SPACE}", " ") == (
        "steady: 84% of the time in the last 5 epochs was spent waiting for input"
    )
    assert last.advice == ["prefetch"]


@pytest.mark.parametrize(("data_kind", "advice"), [("dataset", ["repeat"]), ("arrays", [])])
def test_wait_for_first_batches_is_cured_by_one_iterator_where_there_is_one(
    data_kind: str, advice: list[str]
):
    stored = judged(lambda _: {"input": 3.0, "first_input": 2.0}, data_kind=data_kind)

    (last, *_) = [each for each in reversed(stored) if each.metric == "epoch_time"]
    assert (last.where, last.advice) == ("input", advice)


TWINS: dict[str, Parts] = {
    "steady": lambda _: {},
    "first epoch": lambda epoch: {"compiling": 3.0, "input": 2.0} if epoch == 0 else {},
    "validation each third epoch": lambda epoch: {"validation": 0.0 if epoch % 3 else 1.0},
    "checkpoint each epoch, to a disk that is slow now and then": lambda epoch: {
        "checkpoints": 1.5 if epoch % 7 in {2, 3} else 0.4
    },
    "checkpoint each fifth": lambda epoch: {"checkpoints": 0.0 if epoch % 5 else 0.8},
    "asleep once": lambda epoch: {"rest": 3600.0} if epoch == 30 else {},
    "another process for a while": lambda epoch: (
        {"compute": 1.0, "input": 0.2, "callbacks": 0.1} if 30 <= epoch < 60 else {}
    ),
    "cache that fills in the first epoch": lambda epoch: {"input": 2.0 if epoch == 0 else 0.05},
}


@pytest.mark.parametrize("scatter", [0.02, 0.2])
@pytest.mark.parametrize("twin", TWINS)
def test_harmless_twin_raises_no_alarm_in_a_hundred_epochs(twin: str, scatter: float):
    stored = judged(TWINS[twin], epochs=100, scatter=scatter)

    assert alarms(stored, "epoch_time") == []
    assert alarms(stored, "step_time") == []


def test_one_slow_unit_or_each_third_is_no_jump():
    assert find_jump(np.array([9.0, 1.0, 1.0, 1.0, 5.0, 1.0, 1.0, 1.0, 1.0, 1.0])) is None
    assert find_jump(np.array([9.0, *[1.0, 1.0, 2.0] * 6])) is None
    assert find_jump(np.array([9.0, 1.0, 1.0, 3.0, 3.1, 3.0, 2.9, 3.0])) == 3


@pytest.mark.parametrize(
    ("changed", "advice"),
    [
        ("python", ["tensors_not_numbers", "function_once"]),
        ("x (8, 64) \u2192 (9, 64)", ["pad"]),
    ],
)
def test_function_that_is_compiled_in_each_epoch_is_named_with_what_changed(
    changed: str, advice: list[str]
):
    stored = judged(
        lambda epoch: {"compiling": 2.0 if epoch >= 12 else 0.0},
        traces=lambda epoch: 2 + max(0, epoch - 11),
        changed=changed,
    )

    last = alarms(stored, "epoch_time")[-1]
    assert (last.where, last.name, last.advice) == ("compiling", "scale", advice)
    assert "compiling (scale)" in verdict_headline(last)


@pytest.mark.parametrize(
    ("changed", "disused", "advice"),
    [
        ("x (8, 64) \u2192 (9, 64)", 0, ["pad"]),
        ("python", 0, ["build_once"]),
        ("", 0, ["build_once", "pad"]),
        ("python", 2, ["compile_once"]),
        ("python", 1, ["compile_once"]),
        ("", 2, ["compile_once", "pad"]),
    ],
)
def test_fits_that_compile_are_advised_by_what_their_traces_differ_in(
    changed: str, disused: int, advice: list[str]
):
    judge = RunJudge()
    for fit in range(1, 21):
        began_s = 10.0 * fit
        judge.read(began_s, FitStarted(t_s=began_s, fit=fit, model="m", epochs=1, steps=STEPS))
        judge.read(began_s, EpochStarted(t_s=began_s, fit=fit, epoch=0))
        ended_s = began_s + 4.0
        n = 2 * fit if disused else 2
        traces = [FunctionTraces("one_step_on_iterator", n, 100, changed=changed)]
        graph = GraphSize(
            t_s=ended_s,
            fit=fit,
            epoch=0,
            operations=100,
            traces=n,
            functions=2,
            retained=disused * fit,
            disused=disused * fit,
            by_function=traces,
        )
        parts = EpochParts(wall_s=4.0, compute_s=1.0, compiling_s=3.0)
        judge.read(ended_s, graph)
        judge.read(
            ended_s,
            EpochEnded(t_s=ended_s, fit=fit, epoch=0, seconds=4.0, steps=STEPS, parts=parts),
        )
        judge.read(ended_s, FitEnded(t_s=ended_s, fit=fit, how="finished", epochs_done=1))

    judge.judge()
    (verdict,) = [each for each in judge.newest_verdicts() if each.metric == "epoch_time"]

    assert (verdict.where, verdict.per) == ("compiling", "fit")
    assert verdict.advice == advice


def test_part_outside_of_the_median_step_slows_down_epochs_alone():
    def parts(epoch: int) -> dict[str, float]:
        return {"compiling": 1.5 + 0.8 * (epoch % 3) if epoch >= 10 else 0.0}

    called = [each for each in verdicts(parts) if each.state == "growing"]

    assert {each.metric for each in called} == {"epoch_time"}
    assert {each.where for each in called} == {"compiling"}
