"""Two parts of the time that become slower one after the other, and what a step has of a part."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor.ui.verdicts.verdict_text import advice_of, evidence_lines, verdict_headline
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
STEPS = 50
Series = Sequence[float] | NDArray[np.float64]

CSV_INPUT_S = [
    *(0.013, 0.053, 0.028, 0.026, 0.088, 0.074, 0.030, 0.033, 0.101, 0.080, 0.093, 0.204, 0.130),
    *(0.156, 0.102, 0.121, 0.127, 0.338, 0.257, 0.079, 0.115, 0.277, 0.258, 0.167, 0.142, 0.095),
    *(0.228, 0.220, 0.202, 0.120),
]
CSV_COMPUTE_S = [
    *(0.296, 0.673, 0.072, 0.163, 0.253, 0.198, 0.091, 0.050, 0.378, 0.139, 0.080, 0.073, 0.148),
    *(0.121, 0.314, 0.227, 0.148, 0.159, 0.067, 0.235, 0.158, 0.105, 0.264, 0.044, 0.155, 0.103),
    *(0.125, 0.169, 0.164, 0.038),
]
CSV_CALLBACKS_S = [
    *(0.272, 0.352, 0.173, 0.333, 0.130, 0.125, 0.071, 0.287, 0.251, 0.221, 0.181, 0.171, 0.285),
    *(0.218, 0.312, 0.110, 0.137, 0.230, 0.129, 0.145, 0.232, 0.233, 0.304, 0.252, 0.107, 0.221),
    *(0.153, 0.199, 0.151, 0.147),
]
"""Input that reads a file which gets longer, beside programs that took both processors."""


def judged(
    parts_s: Mapping[str, Series], *, is_at_once: bool = False, is_first: bool = False
) -> list[Verdict]:
    """The verdicts on the time of epochs, and of steps, after each epoch or after all.

    Callbacks work at the ends of epochs.

    Args:
        is_at_once: True to judge all epochs together, as after a restart of the hub.
        is_first: True if the wait for input is that for the first batches of epochs.
    """
    judge, t_s, found = RunJudge(), 0.0, list[Verdict]()
    judge.read(0.0, FitStarted(t_s=0.0, fit=1, model="m", epochs=99, steps=STEPS))
    for epoch in range(len(parts_s["compute"])):
        judge.read(t_s, EpochStarted(t_s=t_s, fit=1, epoch=epoch))
        seconds = {"input": 0.05, "callbacks": 0.02} | {
            name: float(values[epoch]) for name, values in parts_s.items()
        }
        t_s += (wall_s := sum(seconds.values()))
        step_s = (seconds["compute"] + (0.0 if is_first else seconds["input"])) / STEPS
        parts = EpochParts(
            wall_s=wall_s,
            first_input_s=seconds["input"] if is_first else 0.0,
            callbacks=[CallbackTime("Auc", seconds["callbacks"], in_steps_s=0.0)],
            **{f"{name}_s": each for name, each in seconds.items()},
        )
        times = StepTimes(STEPS - 2, step_s, step_s, step_s, step_s, step_s)
        judge.read(t_s, EpochEnded(t_s, 1, epoch, wall_s, STEPS, step_times=times, parts=parts))
        if not is_at_once:
            judge.judge()
            found += judge.newest_verdicts()
    judge.judge()
    return found or judge.newest_verdicts()


def alarms(found: list[Verdict], metric: str) -> list[Verdict]:
    return [each for each in found if each.metric == metric and each.state == "growing"]


def slower_twice(seed: int, jump_s: float = 0.8) -> dict[str, Series]:
    """Validation that takes ever longer, and input that jumps in the 17th epoch."""
    noise = np.exp(np.random.default_rng(seed).normal(0.0, 0.1, (3, EPOCHS)))
    at = np.arange(EPOCHS)
    return {
        "compute": 0.15 * noise[0],
        "validation": (0.1 + 0.033 * at) * noise[1],
        "input": (0.1 + jump_s * (at >= 16)) * noise[2],
    }


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("is_at_once", [False, True])
def test_second_part_that_becomes_slower_is_named_with_its_own_rate(
    seed: int, *, is_at_once: bool
):
    called = alarms(judged(slower_twice(seed), is_at_once=is_at_once), "epoch_time")

    last = called[-1]
    parts = {each.where: each for each in last.slower_parts}
    assert parts.keys() == {"validation", "input"}
    assert parts["validation"].slope == pytest.approx(0.033, rel=0.2)
    assert parts["input"].rise == pytest.approx(0.8, rel=0.2)
    assert (parts["validation"].since, parts["input"].since) == (0, 17)
    assert sum(each.share for each in last.slower_parts) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("seed", range(4))
def test_second_part_stays_named_once_it_is(seed: int):
    found = judged(slower_twice(seed))

    called = alarms(found, "epoch_time")
    changes = [each.slower_parts != [] for each in called]
    assert changes == sorted(changes)
    assert {each.state for each in found[-20:] if each.metric == "epoch_time"} == {"growing"}


def test_part_that_adds_a_tenth_is_not_named_beside_the_other():
    called = alarms(judged(slower_twice(0, jump_s=0.1)), "epoch_time")

    assert {each.where for each in called} == {"validation"}
    assert all(not each.slower_parts for each in called)


def test_each_of_two_parts_has_its_line_and_its_advice():
    last = alarms(judged(slower_twice(0)), "epoch_time")[-1]

    assert verdict_headline(last).endswith(
        "more time is spent on validation and waiting for input"
    )
    lines = [with_plain_spaces(each) for each in evidence_lines(last)]
    shares = [each for each in lines if "of the additional time" in each]
    assert [each.partition("% of ")[2].partition(": ")[0] for each in shares] == [
        "the additional time is spent on validation",
        "the additional time is spent waiting for input",
    ]
    assert shares[0].endswith(" ms / epoch")
    assert shares[1].endswith(" ms more since epoch 17")
    texts = " ".join(each.text for each in advice_of(last))
    assert "validate less often" in texts
    assert "prefetch batches" in texts


def test_what_callbacks_do_at_the_ends_of_epochs_makes_no_step_slower():
    at = np.arange(EPOCHS, dtype=np.float64)

    called = alarms(
        judged({"compute": 0.1 + 0.02 * at, "callbacks": 0.1 + 0.03 * at}), "step_time"
    )

    assert {each.where for each in called} == {"compute"}


def test_part_that_grows_is_called_by_its_share_where_others_hide_its_seconds():
    parts_s = {
        "compute": CSV_COMPUTE_S,
        "input": CSV_INPUT_S,
        "callbacks": CSV_CALLBACKS_S,
    }

    called = alarms(judged(parts_s, is_first=True), "epoch_time")

    assert {each.where for each in called} == {"input"}
    assert called[0].unit <= 20


@pytest.mark.parametrize("seed", range(8))
def test_sleeping_part_is_not_called_where_others_take_less_and_less(seed: int):
    rng = np.random.default_rng(seed)
    load = np.linspace(3.0, 1.0, EPOCHS) * np.exp(rng.normal(0.0, 0.3, EPOCHS))
    input_s = 0.2 * np.exp(rng.normal(0.0, 0.05, EPOCHS))

    found = judged({"compute": 0.2 * load, "callbacks": 0.2 * load, "input": input_s})

    assert alarms(found, "epoch_time") == []
