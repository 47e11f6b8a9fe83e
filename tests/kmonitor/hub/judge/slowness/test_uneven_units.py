"""Verdicts on times where epochs or fits are not alike: other numbers of steps, other batches."""

from collections.abc import Callable

import numpy as np
import pytest

from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor_agent.wire.messages.events import (
    EpochEnded,
    EpochParts,
    EpochStarted,
    FitEnded,
    FitStarted,
    StepTimes,
    Verdict,
)

STEP_S = 0.004


def newest(
    steps: Callable[[int], int],
    *,
    units: int = 30,
    epochs_a_fit: int = 1,
    between_s: Callable[[int], float] = lambda unit: 0.2,
    batch: Callable[[int], int] = lambda fit: 32,
    seed: int = 5,
) -> dict[str, Verdict]:
    """The newest verdict of each metric, after epochs in fits of some epochs each."""
    rng, judge, t_s = np.random.default_rng(seed), RunJudge(), 0.0
    for unit in range(units):
        fit, epoch = divmod(unit, epochs_a_fit)
        if epoch == 0:
            start = FitStarted(
                t_s=t_s, fit=fit + 1, model="m", epochs=epochs_a_fit, batch_size=batch(fit)
            )
            judge.read(t_s, start)
        judge.read(t_s, EpochStarted(t_s=t_s, fit=fit + 1, epoch=epoch))
        step_s = STEP_S * batch(fit) / 32 * float(np.exp(rng.normal(0.0, 0.05)))
        before_s = between_s(unit) * float(np.exp(rng.normal(0.0, 0.05)))
        parts = EpochParts(
            wall_s=steps(unit) * step_s + before_s,
            input_s=0.0,
            compute_s=steps(unit) * step_s,
            between_fits_s=0.0 if epoch else before_s,
            between_epochs_s=before_s if epoch else 0.0,
        )
        t_s += parts.wall_s
        ended = EpochEnded(
            t_s=t_s,
            fit=fit + 1,
            epoch=epoch,
            seconds=parts.wall_s,
            steps=steps(unit),
            step_times=StepTimes(steps(unit) - 2, step_s, step_s, step_s, step_s, step_s),
            parts=parts,
        )
        judge.read(t_s, ended)
        if epoch == epochs_a_fit - 1:
            judge.read(t_s, FitEnded(t_s=t_s, fit=fit + 1, how="finished"))
        judge.judge()
    return {each.metric: each for each in judge.newest_verdicts()}


def more_steps(unit: int) -> int:
    return 20 + 4 * unit


@pytest.mark.parametrize(("epochs_a_fit", "where"), [(1, "between_fits"), (99, "between_epochs")])
def test_what_is_between_units_is_called_though_their_steps_change(epochs_a_fit: int, where: str):
    found = newest(
        more_steps, epochs_a_fit=epochs_a_fit, between_s=lambda unit: 0.1 + 0.04 * unit
    )["epoch_time"]

    assert (found.state, found.where) == ("growing", where)
    assert found.slope == pytest.approx(0.04, rel=0.1)


@pytest.mark.parametrize("epochs_a_fit", [1, 99])
@pytest.mark.parametrize("seed", range(5))
def test_units_that_only_make_more_steps_are_not_judged(epochs_a_fit: int, seed: int):
    found = newest(more_steps, epochs_a_fit=epochs_a_fit, units=60, seed=seed)["epoch_time"]

    assert (found.state, found.why_not) == ("measuring", "steps_differ")


def test_units_with_the_same_number_of_steps_are_judged_as_ever():
    found = newest(lambda unit: 100 if unit else 20)["epoch_time"]

    assert (found.state, found.why_not) == ("steady", "too_small")


def test_fits_with_a_batch_of_their_own_are_not_compared():
    found = newest(lambda _: 60, epochs_a_fit=6, units=30, batch=lambda fit: 32 * 2**fit)

    assert (found["step_time"].state, found["step_time"].why_not) == ("measuring", "kinds_differ")
    assert found["step_time"].slope is None


def test_steps_of_larger_batches_are_no_slower_steps():
    found = newest(lambda _: 60, epochs_a_fit=8, units=16, batch=lambda fit: 32 * 2**fit)

    assert found["step_time"].state == "measuring"
