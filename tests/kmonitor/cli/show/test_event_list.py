"""Events of a run as a list: fits of a loop that are alike share a line."""

import pytest

from kmonitor.cli.show.event_list import ModelFilter, print_events
from kmonitor_agent.wire.messages.events import (
    EpochEnded,
    Event,
    FitEnded,
    FitStarted,
    ModelFacts,
    SessionStarted,
    Verdict,
)
from tests.support.made_up_runs import made_up_row

ALARM = Verdict(t_s=1.0, metric="ram", state="growing", per="fit", units=9, unit=9, turned=True)


def model(fit: int, name: str = "net", parameters: int = 5) -> ModelFacts:
    return ModelFacts(
        t_s=1.0, fit=fit, part=1, part_count=1, name=name, kind="Model", n_layers=3,
        parameters=parameters, parameter_bytes=4 * parameters,
    )  # fmt: skip


def one_fit(fit: int, name: str = "net", *, epochs: int = 1, done: int = 1) -> list[Event]:
    how = "finished" if done == epochs else "stopped"
    return [
        FitStarted(t_s=1.0, fit=fit, model=name, epochs=epochs, steps=100, batch_size=64),
        model(fit, name),
        EpochEnded(t_s=1.0, fit=fit, epoch=0, seconds=1.0, steps=100),
        FitEnded(t_s=1.0, fit=fit, how=how, epochs_done=done),
    ]


def printed(capsys: pytest.CaptureFixture[str], events: list[Event]) -> list[str]:
    """Texts of the lines, without run times."""
    print_events([made_up_row(n, event) for n, event in enumerate(events, 1)], "run")
    return [line[14:] for line in capsys.readouterr().out.splitlines()]


def test_fits_that_are_alike_share_a_line_between_alarms(capsys: pytest.CaptureFixture[str]):
    events = [event for fit in range(1, 10) for event in one_fit(fit)]
    events.append(ALARM)
    events += [event for fit in range(10, 20) for event in one_fit(fit)]

    lines = printed(capsys, events)

    assert lines == [
        "Fit 1 started: net, 1 epoch of 100 steps, batch size 64",
        "Model net: 3 layers, 5 parameters (20 B)",
        "Fit 1 finished after 1 epoch",
        "Fits 2 to 9: net, each 1 epoch of 100 steps, batch size 64; finished",
        "RAM after fit 9: growing",
        "Fits 10 to 19: net, each 1 epoch of 100 steps, batch size 64; finished",
    ]


def test_a_verdict_stored_later_has_its_place_by_time(capsys: pytest.CaptureFixture[str]):
    started = FitStarted(t_s=1.1, fit=10, model="net", epochs=2, steps=100, batch_size=64)
    ended = FitEnded(t_s=5.0, fit=10, how="finished", epochs_done=2)

    lines = printed(capsys, [*one_fit(9), started, ALARM, ended])

    assert lines[-3:] == [
        "RAM after fit 9: growing",
        "Fit 10 started: net, 2 epochs of 100 steps, batch size 64",
        "Fit 10 finished after 2 epochs",
    ]


def test_a_verdict_stays_in_its_process(capsys: pytest.CaptureFixture[str]):
    new_process = SessionStarted(2.0, "b", "run", "host", 1, 5.0)

    lines = printed(capsys, [*one_fit(9), new_process, ALARM])

    assert lines[-1] == "RAM after fit 9: growing"


def test_few_fits_have_lines_of_their_own_and_the_model_once(
    capsys: pytest.CaptureFixture[str],
):
    lines = printed(capsys, [event for fit in range(1, 5) for event in one_fit(fit)])

    assert [line.split()[0] for line in lines] == ["Fit", "Model", *["Fit"] * 7]


def test_models_with_numbered_names_are_alike_and_others_are_not(
    capsys: pytest.CaptureFixture[str],
):
    events = [event for fit in range(1, 8) for event in one_fit(fit, f"net_{fit}")]
    events += [event for fit in range(8, 14) for event in one_fit(fit, "other")]

    lines = printed(capsys, events)

    assert lines[3] == (
        "Fits 2 to 7: net_2 to net_7, each 1 epoch of 100 steps, batch size 64; finished"
    )
    assert lines[5].startswith("Model other: ")
    assert lines[7].startswith("Fits 9 to 13: other, ")


def test_model_that_changed_its_size_is_said():
    models = ModelFilter()

    repeats = [models.note_event(each) for each in (model(1), model(2), model(3, parameters=9))]

    assert repeats == [False, True, False]


def test_model_is_said_again_in_a_new_process():
    models = ModelFilter()
    started = SessionStarted(t_s=0.0, session="s", name="run", host="h", pid=1, started_wall_s=1.0)

    assert [models.note_event(each) for each in (model(1), started, model(1))] == [False] * 3


@pytest.mark.parametrize(
    ("done", "end"),
    [
        ([9, 12, 9, 23], "stopped after 9 to 23 epochs"),
        ([9, 9, 9, 9], "stopped after 9 epochs"),
        ([9, 12, 50, 23], "ended after 9 to 50 epochs"),
    ],
)
def test_ends_of_fits_are_said_with_their_epochs(
    capsys: pytest.CaptureFixture[str], done: list[int], end: str
):
    epochs_done = enumerate([50, *done], 1)
    fits = [one_fit(fit, epochs=50, done=epochs) for fit, epochs in epochs_done]

    lines = printed(capsys, [event for events in fits for event in events])

    assert lines[-1] == f"Fits 2 to 5: net, each 50 epochs of 100 steps, batch size 64; {end}"


def test_fit_that_failed_keeps_its_lines(capsys: pytest.CaptureFixture[str]):
    events = [event for fit in range(1, 10) for event in one_fit(fit)]
    events[-1] = FitEnded(t_s=1.0, fit=9, how="failed", error_type="ValueError", message="no")

    lines = printed(capsys, events)

    assert lines[-3].startswith("Fits 2 to 8: ")
    assert lines[-2].startswith("Fit 9 started: ")
    assert lines[-1].startswith("Fit 9 failed ")
