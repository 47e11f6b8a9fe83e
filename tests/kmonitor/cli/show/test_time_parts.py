"""Table of where the time goes: recent epochs, those before a slowdown, and the whole run."""

import re
from collections.abc import Sequence

import pytest

from kmonitor.cli.show.time_parts import print_parts
from kmonitor_agent.wire.messages.codec import encode_event
from kmonitor_agent.wire.messages.events import (
    CallbackTime,
    EpochEnded,
    EpochParts,
    FitEnded,
    Verdict,
)
from kmonitor_agent.wire.messages.unions import EventRow


def epoch(
    number: int,
    input_s: float | None,
    compute_s: float = 1.0,
    *,
    fit: int = 1,
    log_s: float = 0.0,
    compiling_s: float = 0.0,
) -> EpochEnded:
    parts = EpochParts(
        wall_s=(input_s or 0.0) + compute_s + log_s + compiling_s,
        input_s=input_s,
        compute_s=compute_s,
        compiling_s=compiling_s,
        callbacks_s=log_s,
        callbacks=[CallbackTime("Log", log_s)] if log_s else [],
    )
    return EpochEnded(t_s=1.0, fit=fit, epoch=number, seconds=parts.wall_s, steps=9, parts=parts)


def loop_of_fits(epochs: Sequence[EpochEnded]) -> list[EpochEnded | FitEnded]:
    """Epochs, each with the end of its fit after the fit's last one."""
    last = {each.fit: each for each in epochs}
    events: list[EpochEnded | FitEnded] = []
    for each in epochs:
        events.append(each)
        if each is last[each.fit]:
            events.append(FitEnded(t_s=1.0, fit=each.fit, how="finished", epochs_done=1))
    return events


def lines_of(
    capsys: pytest.CaptureFixture[str],
    events: Sequence[EpochEnded | FitEnded],
    *verdicts: Verdict,
    why_no_input: Sequence[str] = (),
) -> list[str]:
    rows = [
        EventRow(row=n, run="r", seq=n, t_s=float(n), body=encode_event(event))
        for n, event in enumerate(events, 1)
    ]
    print_parts(rows, why_no_input, verdicts)
    return capsys.readouterr().out.splitlines()[1:]


def printed(
    capsys: pytest.CaptureFixture[str],
    events: Sequence[EpochEnded | FitEnded],
    *verdicts: Verdict,
) -> list[list[str]]:
    """Rows of the table, split where two spaces are."""
    lines = lines_of(capsys, events, *verdicts)
    lines = [line for line in lines if not line.startswith("WHOLE RUN is ")]
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]


def slower(*, since: int = 0, from_s: float = 0.0, per: str = "epoch") -> Verdict:
    """Verdict on the newest of 20 units.

    Args:
        from_s: Run time at which the evidence begins: the ends of events are 1, 2, 3, ...
    """
    return Verdict(
        t_s=1.0,
        metric="epoch_time",
        state="growing",
        per=per,  # type: ignore[arg-type]
        units=20,
        unit=20,
        window=9,
        since=since,
        from_s=from_s,
    )


def test_parts_are_means_of_the_last_five_epochs(capsys: pytest.CaptureFixture[str]):
    waits = [9.0, 9.0, 3.0, 4.0, 4.0, 3.0, 6.0]

    table = printed(capsys, [epoch(n, wait) for n, wait in enumerate(waits)])

    assert table == [
        ["WHERE THE TIME GOES", "EPOCHS 3 TO 7", "PART", "WHOLE RUN"],
        ["waiting for input", "4.00 s", "80%", "38.0 s (84%)"],
        ["compute", "1.00 s", "20%", "7.00 s (16%)"],
        ["total", "5.00 s", "100%", "45.0 s (100%)"],
    ]


def test_first_epoch_of_a_fit_is_shown_until_there_is_another(
    capsys: pytest.CaptureFixture[str],
):
    tables = [
        printed(capsys, [*(epoch(n, 1.0) for n in range(length)), epoch(0, 3.0, fit=2)])
        for length in (0, 3)
    ]
    later = printed(capsys, [epoch(0, 9.0), epoch(1, 3.0), epoch(2, 3.0)])

    assert [table[0][1] for table in tables] == ["EPOCH 1", "EPOCH 1"]
    assert [row[:3] for row in later[:2]] == [
        ["WHERE THE TIME GOES", "EPOCHS 2 TO 3", "PART"],
        ["waiting for input", "3.00 s", "75%"],
    ]


def test_epochs_before_a_slowdown_have_a_column(capsys: pytest.CaptureFixture[str]):
    waits = [9.0, *[0.1] * 7, *[3.0] * 12]

    table = printed(
        capsys, [epoch(n, each) for n, each in enumerate(waits)], slower(since=9, from_s=8.1)
    )

    assert [row[:4] for row in table] == [
        ["WHERE THE TIME GOES", "EPOCHS 4 TO 8", "EPOCHS 16 TO 20", "PART"],
        ["waiting for input", "100 ms", "3.00 s", "75%"],
        ["compute", "1.00 s", "1.00 s", "25%"],
        ["total", "1.10 s", "4.00 s", "100%"],
    ]


@pytest.mark.parametrize(
    ("from_s", "title", "log"),
    [(1.1, "EPOCHS 2 TO 6", "300 ms"), (8.1, "EPOCHS 4 TO 8", "500 ms")],
)
def test_growth_is_compared_with_the_epochs_before_its_evidence(
    capsys: pytest.CaptureFixture[str], from_s: float, title: str, log: str
):
    epochs = [epoch(n, 0.1, log_s=0.1 * n) for n in range(20)]

    table = printed(capsys, epochs, slower(from_s=from_s))

    assert table[0][1:4] == [title, "EPOCHS 16 TO 20", "PART"]
    assert table[-2][:4] == ["Log", log, "1.70 s", "61%"]


def test_newer_epochs_do_not_move_the_column_of_those_before(
    capsys: pytest.CaptureFixture[str],
):
    epochs = [epoch(n, 0.1, log_s=0.1 * n) for n in range(30)]

    tables = [printed(capsys, epochs[:length], slower(from_s=1.1)) for length in (12, 20, 30)]

    assert [table[0][1] for table in tables] == ["EPOCHS 2 TO 6"] * 3


def test_epochs_of_another_fit_are_not_compared(capsys: pytest.CaptureFixture[str]):
    epochs = [epoch(n, 0.1) for n in range(8)] + [epoch(n, 3.0, fit=2) for n in range(12)]

    table = printed(capsys, epochs, slower(since=9, from_s=8.1))

    assert table[0][:3] == ["WHERE THE TIME GOES", "EPOCHS 8 TO 12", "PART"]


def test_unknown_wait_is_part_of_compute(capsys: pytest.CaptureFixture[str]):
    table = printed(capsys, [epoch(n, 1.0 if n < 3 else None) for n in range(6)])

    assert table[0][1] == "EPOCHS 4 TO 6"
    assert table[1][0] == "compute and input"


def test_epochs_without_parts_have_no_table(capsys: pytest.CaptureFixture[str]):
    bare = EpochEnded(t_s=1.0, fit=1, epoch=0, seconds=2.0, steps=9)

    assert printed(capsys, []) == printed(capsys, [bare]) == []


def test_parts_of_a_loop_are_those_of_its_last_five_fits(capsys: pytest.CaptureFixture[str]):
    waits = [9.0, 2.0, 3.0, 4.0, 4.0, 3.0, 6.0]
    events = loop_of_fits([epoch(n, wait, fit=n + 1) for n, wait in enumerate(waits)])

    table = printed(capsys, events)

    assert [row[:3] for row in table[:2]] == [
        ["WHERE THE TIME GOES", "FITS 3 TO 7", "PART"],
        ["waiting for input", "4.00 s", "80%"],
    ]


def test_slowdown_judged_by_fits_is_shown_by_fits(capsys: pytest.CaptureFixture[str]):
    waits = [9.0, *[0.1] * 7, *[3.0] * 12]
    epochs = [epoch(n, wait, fit=fit) for fit, wait in enumerate(waits, 1) for n in range(2)]
    epochs.append(epoch(0, 3.0, fit=len(waits) + 1))  # a fit that has not ended

    table = printed(capsys, loop_of_fits(epochs)[:-1], slower(since=9, from_s=24.1, per="fit"))

    assert [row[:4] for row in table] == [
        ["WHERE THE TIME GOES", "FITS 4 TO 8", "FITS 16 TO 20", "PART"],
        ["waiting for input", "200 ms", "6.00 s", "75%"],
        ["compute", "2.00 s", "2.00 s", "25%"],
        ["total", "2.20 s", "8.00 s", "100%"],
    ]


def test_part_that_took_long_before_is_in_the_whole_run(capsys: pytest.CaptureFixture[str]):
    epochs = [epoch(n, 0.5, compiling_s=4.0 if 3 <= n < 8 else 0.0) for n in range(20)]

    table = printed(capsys, epochs)

    assert table[1:] == [
        ["waiting for input", "500 ms", "33%", "10.0 s (20%)"],
        ["compute", "1.00 s", "67%", "20.0 s (40%)"],
        ["compiling", "\N{EN DASH}", "0%", "20.0 s (40%)"],
        ["total", "1.50 s", "100%", "50.0 s (100%)"],
    ]


def test_parts_of_the_whole_run_add_up_to_all_epochs(capsys: pytest.CaptureFixture[str]):
    waits = [None, 0.7, 0.3, None, 2.0, 0.5, 0.6]
    epochs = [epoch(n, wait, log_s=0.2) for n, wait in enumerate(waits)]

    lines = lines_of(capsys, epochs)

    cells = [re.search(r"([\d.]+) s +\(", line) for line in lines[1:-1] if line[0] != " "]
    seconds = [float(found[1]) for found in cells if found]
    assert seconds[-1] == pytest.approx(sum(each.seconds for each in epochs))
    assert sum(seconds[:-1]) == pytest.approx(seconds[-1])
    assert lines[-1].startswith("In 2 of 7 epochs the time spent waiting for input is unknown")


@pytest.mark.parametrize(
    ("reported", "reason"),
    [
        ([""], ": it was measured in too few of their steps."),
        (["no iterator", ""], "."),  # in any of the two ways
        ([], "."),
    ],
)
def test_reason_for_unknown_waits_is_said_where_there_is_just_one(
    capsys: pytest.CaptureFixture[str], reported: list[str], reason: str
):
    epochs = [epoch(n, wait) for n, wait in enumerate([None, 0.7, 0.3])]

    lines = lines_of(capsys, epochs, why_no_input=reported)

    note = next(line for line in lines if line.startswith("In 1 of 3 epochs"))
    assert note.endswith(f"and is part of compute{reason}")


def test_reason_for_an_unknown_wait_of_the_last_epochs_is_the_last(
    capsys: pytest.CaptureFixture[str],
):
    epochs = [epoch(n, None) for n in range(3)]

    lines = lines_of(capsys, epochs, why_no_input=["", "no iterator"])

    assert lines[-1] == "The time spent waiting for input is unknown: no iterator"


def test_time_of_the_whole_run_is_left_out_where_an_epoch_was_not_measured(
    capsys: pytest.CaptureFixture[str],
):
    bare = EpochEnded(t_s=1.0, fit=1, epoch=0, seconds=2.0, steps=9)

    table = printed(capsys, [bare, epoch(1, 1.0), epoch(2, 1.0)])

    assert table[0][1:] == ["EPOCHS 2 TO 3", "PART"]


@pytest.mark.parametrize(
    ("waits", "note"),
    [
        ([0.2, 0.2, 4.1, 0.2], "Epoch 4 took 5.10 s, the others about 1.20 s."),
        ([2.0, 0.2, 4.1, 0.2, 0.3], "Epochs 2 and 4 took 3.00 s and 5.10 s, the others about"),
        ([0.2, 0.2, 1.1, 0.2], ""),
        ([0.2, 4.1], ""),
    ],
)
def test_epoch_far_from_the_others_is_named(
    capsys: pytest.CaptureFixture[str], waits: list[float], note: str
):
    lines = lines_of(capsys, [epoch(n, wait) for n, wait in enumerate([9.0, *waits])])

    notes = [line for line in lines if " took " in line]
    assert len(notes) == bool(note)
    assert all(line.startswith(note) for line in notes)


def test_means_and_sums_are_told_apart(capsys: pytest.CaptureFixture[str]):
    lines = [lines_of(capsys, [epoch(n, 1.0) for n in range(length)])[-1] for length in (2, 3)]

    assert lines[0].startswith("total ")
    assert lines[1] == "WHOLE RUN is the sum of all epochs; the rest are means of epochs."
