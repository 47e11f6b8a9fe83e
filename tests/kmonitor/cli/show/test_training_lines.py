"""Output of `kmonitor show` on the training's metrics."""

import math

import pytest

from kmonitor.cli.show.sections import print_step_times, print_training
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor_agent.wire.messages.events import EpochEnded, StepTimes
from tests.support.made_up_runs import made_up_row


def ended(epoch: int, fit: int = 1, **logs: float) -> EpochEnded:
    return EpochEnded(
        t_s=float(epoch), fit=fit, epoch=epoch, seconds=1.0, logs=logs, learning_rate=0.1
    )


def said(capsys: pytest.CaptureFixture[str], *events: EpochEnded) -> list[list[str]]:
    print_training([made_up_row(n, event) for n, event in enumerate(events, 1)])
    return [line.split() for line in capsys.readouterr().out.splitlines() if line]


def test_last_and_best_with_its_epoch(capsys: pytest.CaptureFixture[str]):
    lines = said(
        capsys,
        ended(0, loss=2.0, accuracy=0.5),
        ended(1, loss=0.5, accuracy=0.9),
        ended(2, loss=0.75, accuracy=0.8),
    )

    assert lines[0] == ["TRAINING", "LAST", "BEST", "IN"]
    assert lines[1] == ["loss", "0.75", "0.5", "epoch", "2"]
    assert lines[2] == ["accuracy", "0.8", "0.9", "epoch", "2"]
    assert lines[3][:2] == ["learning_rate", "0.1"]


def test_what_is_not_finite_is_never_the_best(capsys: pytest.CaptureFixture[str]):
    lines = said(capsys, ended(0, loss=-math.inf), ended(1, loss=3.0), ended(2, loss=math.nan))

    assert lines[1] == ["loss", "nan", "3", "epoch", "2"]


def test_several_fits_are_named(capsys: pytest.CaptureFixture[str]):
    lines = said(capsys, ended(0, fit=1, loss=2.0), ended(0, fit=2, loss=1.0))

    assert lines[1] == ["loss", "1", "1", "fit", "2,", "epoch", "1"]


def test_nothing_is_said_before_an_epoch_has_ended(capsys: pytest.CaptureFixture[str]):
    assert said(capsys) == []


def timed(epoch: int, *, fit: int = 1, slow: int = 0) -> EpochEnded:
    some = {"slow": slow, "slow_sum_s": 0.5, "collected": slow, "collected_sum_s": 0.5}
    times = StepTimes(98, 0.007, 0.002, 0.002, 0.002, 0.5, **(some if slow else {}))
    return EpochEnded(t_s=float(epoch), fit=fit, epoch=epoch, seconds=1.0, step_times=times)


def said_of_steps(capsys: pytest.CaptureFixture[str], *events: EpochEnded) -> str:
    print_step_times([made_up_row(n, event) for n, event in enumerate(events, 1)])
    return " ".join(with_plain_spaces(capsys.readouterr().out).split())


def test_slow_steps_of_a_recent_epoch_are_said_with_its_number(
    capsys: pytest.CaptureFixture[str],
):
    text = said_of_steps(capsys, timed(6, slow=1), timed(7, slow=1), timed(8), timed(9))

    assert "Epoch 8: 1 of 98 timed steps took " in text
    assert text.endswith(
        "Python ran a full garbage collection in it What may help: call gc.collect() less often,"
        " or call gc.freeze() once after setup"
    )


def test_slow_steps_of_long_ago_or_of_another_fit_are_not_said(
    capsys: pytest.CaptureFixture[str],
):
    long_ago = [timed(0, slow=1), *(timed(number) for number in range(1, 7))]

    assert "timed steps" not in said_of_steps(capsys, *long_ago)
    assert "timed steps" not in said_of_steps(capsys, timed(0, slow=1), timed(0, fit=2))
