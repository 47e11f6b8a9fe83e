"""Table of where the time goes: recent epochs, beside those before a slowdown."""

import pytest

from kmonitor.cli.show.time_parts import print_parts
from kmonitor_agent.wire.messages.codec import encode_event
from kmonitor_agent.wire.messages.events import CallbackTime, EpochEnded, EpochParts, Verdict
from kmonitor_agent.wire.messages.unions import EventRow


def epoch(
    number: int, input_s: float | None, compute_s: float = 1.0, *, fit: int = 1, log_s: float = 0.0
) -> EpochEnded:
    parts = EpochParts(
        wall_s=(input_s or 0.0) + compute_s + log_s,
        input_s=input_s,
        compute_s=compute_s,
        callbacks_s=log_s,
        callbacks=[CallbackTime("Log", log_s)] if log_s else [],
    )
    return EpochEnded(t_s=1.0, fit=fit, epoch=number, seconds=parts.wall_s, steps=9, parts=parts)


def printed(
    capsys: pytest.CaptureFixture[str], epochs: list[EpochEnded], *verdicts: Verdict
) -> list[list[str]]:
    """Rows of the table, split where two spaces are."""
    rows = [
        EventRow(row=n, run="r", seq=n, t_s=float(n), body=encode_event(event))
        for n, event in enumerate(epochs, 1)
    ]
    print_parts(rows, "", verdicts)
    lines = capsys.readouterr().out.splitlines()[1:]
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]


def slower(*, since: int = 0, window: int = 0) -> Verdict:
    return Verdict(
        t_s=1.0,
        metric="epoch_time",
        state="growing",
        per="epoch",
        units=20,
        unit=20,
        window=window,
        since=since,
    )


def test_parts_are_means_of_the_last_five_epochs(capsys: pytest.CaptureFixture[str]):
    waits = [9.0, 9.0, 3.0, 3.0, 3.0, 3.0, 8.0]

    table = printed(capsys, [epoch(n, wait) for n, wait in enumerate(waits)])

    assert table == [
        ["WHERE THE TIME GOES", "EPOCHS 3 TO 7", "PART"],
        ["waiting for input", "4.00 s", "80%"],
        ["compute", "1.00 s", "20%"],
    ]


def test_first_epoch_of_a_fit_is_shown_until_there_is_another(
    capsys: pytest.CaptureFixture[str],
):
    tables = [
        printed(capsys, [epoch(n, 1.0) for n in range(length)] + [epoch(0, 3.0, fit=2)])
        for length in (0, 3)
    ]
    later = printed(capsys, [epoch(0, 9.0), epoch(1, 3.0), epoch(2, 3.0)])

    assert [table[0][1] for table in tables] == ["EPOCH 1", "EPOCH 1"]
    assert later[:2] == [
        ["WHERE THE TIME GOES", "EPOCHS 2 TO 3", "PART"],
        ["waiting for input", "3.00 s", "75%"],
    ]


def test_epochs_before_a_slowdown_have_a_column(capsys: pytest.CaptureFixture[str]):
    waits = [9.0, *[0.1] * 7, *[3.0] * 12]

    table = printed(capsys, [epoch(n, each) for n, each in enumerate(waits)], slower(since=9))

    assert table == [
        ["WHERE THE TIME GOES", "EPOCHS 4 TO 8", "EPOCHS 16 TO 20", "PART"],
        ["waiting for input", "100 ms", "3.00 s", "75%"],
        ["compute", "1.00 s", "1.00 s", "25%"],
    ]


def test_growth_is_shown_from_the_first_epochs_of_its_window(
    capsys: pytest.CaptureFixture[str],
):
    epochs = [epoch(n, 0.1, log_s=0.1 * n) for n in range(20)]

    table = printed(capsys, epochs, slower(window=15))

    assert table[0][1:] == ["EPOCHS 6 TO 10", "EPOCHS 16 TO 20", "PART"]
    assert table[-1] == ["Log", "700 ms", "1.70 s", "61%"]


def test_epochs_of_another_fit_are_not_compared(capsys: pytest.CaptureFixture[str]):
    epochs = [epoch(n, 0.1) for n in range(8)] + [epoch(n, 3.0, fit=2) for n in range(12)]

    table = printed(capsys, epochs, slower(since=9))

    assert table[0] == ["WHERE THE TIME GOES", "EPOCHS 8 TO 12", "PART"]


def test_unknown_wait_is_part_of_compute(capsys: pytest.CaptureFixture[str]):
    table = printed(capsys, [epoch(n, 1.0 if n < 3 else None) for n in range(6)])

    assert table[0][1] == "EPOCHS 4 TO 6"
    assert table[1][0] == "compute and waiting for input"


def test_epochs_without_parts_have_no_table(capsys: pytest.CaptureFixture[str]):
    bare = EpochEnded(t_s=1.0, fit=1, epoch=0, seconds=2.0, steps=9)

    assert printed(capsys, []) == printed(capsys, [bare]) == []
