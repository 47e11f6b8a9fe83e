"""Jumps of computing that the machine explains, as `kmonitor show` says them."""

from collections.abc import Callable
from typing import Any

import pytest

from kmonitor.cli.show.sections import print_verdicts
from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor_agent.wire.messages.events import (
    EpochEnded,
    EpochParts,
    EpochStarted,
    FitStarted,
    Sample,
    StepTimes,
    Verdict,
)
from kmonitor_agent.wire.messages.unions import VerdictsReply
from tests.support.made_up_runs import made_up_run

Readings = Callable[[int], dict[str, Any]]

_EPOCHS = 24
_JUMP_AT = 12


def verdicts_on(readings: Readings, *, compute_s: tuple[float, float]) -> list[Verdict]:
    """Verdicts on times, where computing takes the second time from the thirteenth epoch on."""
    judge, t_s = RunJudge(), 0.0
    judge.read(0.0, FitStarted(t_s=0.0, fit=1, model="m", epochs=99, steps=100))
    for epoch in range(_EPOCHS):
        judge.read(t_s, EpochStarted(t_s=t_s, fit=1, epoch=epoch))
        each_s = compute_s[epoch >= _JUMP_AT] * (1.0 + 0.01 * (epoch % 3))
        parts = EpochParts(wall_s=each_s + 0.1, input_s=0.1, compute_s=each_s)
        t_s += parts.wall_s
        judge.read(t_s, Sample(t_s=t_s, fit=1, epoch=epoch, **readings(epoch)))
        step_s = each_s / 100
        times = StepTimes(98, step_s, step_s, step_s, step_s, step_s)
        ended = EpochEnded(t_s, 1, epoch, parts.wall_s, 100, step_times=times, parts=parts)
        judge.read(t_s, ended)
        judge.judge()
    return [each for each in judge.newest_verdicts() if each.metric in {"epoch_time", "step_time"}]


def shown(capsys: pytest.CaptureFixture[str], verdicts: list[Verdict]) -> str:
    print_verdicts(made_up_run(), VerdictsReply(request_id=1, run="r", verdicts=verdicts))
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("readings", "cause", "text"),
    [
        (
            lambda epoch: {"cpu_wait_fraction": 0.02 if epoch < _JUMP_AT else 0.7},
            "busy",
            "it waits longer for a CPU, which other processes or its own workers use",
        ),
        (
            lambda epoch: {"major_faults": 5.0 + 900.0 * max(0, epoch - _JUMP_AT + 1)},
            "pressure",
            "memory pressure: pages are being read back from disk, and tasks are waiting",
        ),
        (
            lambda epoch: {"cpu_wait_fraction": 0.02, "major_faults": 5.0},
            "unknown",
            "more time is spent on compute; cause unknown",
        ),
    ],
)
def test_jump_of_computing_names_what_the_machine_does(
    readings: Readings, cause: str, text: str, capsys: pytest.CaptureFixture[str]
):
    verdicts = verdicts_on(readings, compute_s=(0.5, 2.0))

    assert {each.metric: each.cause for each in verdicts} == {
        "epoch_time": cause,
        "step_time": cause,
    }
    text_shown = shown(capsys, verdicts)
    assert f"Step time slower since epoch 13: {text}" in text_shown
    assert f"Epoch time slower since epoch 13: {text}" in text_shown


def test_slower_level_below_three_times_is_not_called_where_the_machine_is_busy():
    def wait(epoch: int) -> dict[str, float]:
        return {"cpu_wait_fraction": 0.02 if epoch < _JUMP_AT else 0.4}

    verdicts = verdicts_on(wait, compute_s=(0.5, 0.9))

    assert {each.state for each in verdicts} <= {"measuring", "steady", "rising"}
