"""How a run ended, with the last minute of its memory."""

import numpy as np
import pytest

from kmonitor.ui.events.run_end import (
    RunEndStore,
    last_minute_peak_text,
    last_minute_sparkline,
    last_minute_start_s,
    last_minute_text,
    read_last_minute,
    resume_text,
    run_end_state,
)
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor_agent.wire.messages.unions import SeriesReply, SeriesRequest, ThinnedColumn
from tests.support.made_up_runs import GIB, NOW_WALL_S, made_up_run

T = np.arange(0.0, 91.0)
RAM = (1.0 + 0.05 * T) * GIB


def told(ram: np.ndarray = RAM, *, of: float = 8 * GIB, group: float | None = None) -> SeriesReply:
    columns = [
        ThinnedColumn("ram_bytes", T[: len(ram)].tobytes(), ram.tobytes(), len(ram)),
        ThinnedColumn("ram_of_bytes", T[:1].tobytes(), np.array([of]).tobytes(), 1),
    ]
    if group is not None:
        limit = np.array([group]).tobytes()
        columns.append(ThinnedColumn("cgroup_limit_bytes", T[:1].tobytes(), limit, 1))
    return SeriesReply(request_id=1, run="run1", columns=columns, row=1)


def test_the_last_minute_is_told_with_its_rate_and_the_limit_of_the_group():
    """From 30 s, 2.5 GiB, to 90 s, 5.5 GiB: 51.2 MiB a second."""
    minute = read_last_minute(told(group=8 * GIB))

    assert minute is not None
    assert with_plain_spaces(last_minute_text(minute)) == (
        "RAM in the last 60.0 s: 2.5 GiB to 5.5 GiB, +51.2 MiB / s; cgroup limit 8.0 GiB"
    )
    assert (
        with_plain_spaces(last_minute_peak_text(minute)) == "Highest of 61 samples: 5.5 GiB (69 %)"
    )


def test_the_account_of_the_group_is_what_is_told_of_one_that_kills():
    reply = told(group=8 * GIB)
    used = (2.0 + 0.065 * T) * GIB
    account = ThinnedColumn("cgroup_used_bytes", T.tobytes(), used.tobytes(), len(T))
    with_account = SeriesReply(request_id=1, run="run1", columns=[*reply.columns, account], row=1)

    minute = read_last_minute(with_account)

    assert minute is not None
    assert with_plain_spaces(last_minute_text(minute)) == (
        "RAM of the control group in the last 60.0 s: 4.0 GiB to 7.9 GiB, +66.6 MiB / s;"
        " cgroup limit 8.0 GiB"
    )


def test_a_group_with_a_larger_limit_is_not_what_counts():
    minute = read_last_minute(told(group=900 * GIB))

    assert minute is not None
    assert "host memory 8.0 GiB" in with_plain_spaces(last_minute_text(minute))


def test_the_line_of_blocks_rises_from_lowest_to_highest():
    minute = read_last_minute(told())
    flat = read_last_minute(told(np.full(91, GIB)))

    assert minute is not None
    assert flat is not None
    line = last_minute_sparkline(minute)
    assert (len(line), line[0], line[-1]) == (48, "\u2581", "\u2588")
    assert list(line) == sorted(line)
    assert set(last_minute_sparkline(flat)) == {"\u2581"}


@pytest.mark.parametrize("ram", [np.empty(0), RAM[:1], np.full(91, np.nan)])
def test_without_samples_nothing_is_claimed(ram: np.ndarray):
    assert read_last_minute(told(ram)) is None


def test_what_can_go_on_is_said_with_its_command():
    nothing = made_up_run(state="failed", checkpoint_bytes=None)
    saved = made_up_run(state="failed", checkpoint_bytes=GIB, checkpoint_epoch=11)

    assert "Nothing of it was saved" in resume_text(nothing)
    assert "kmonitor run --resume-after-crash" in resume_text(nothing)
    assert with_plain_spaces(resume_text(saved)).startswith(
        "Its state of epoch 12 is saved (1.0 GiB)"
    )
    assert f"kmonitor checkpoints {saved.run[:8]}" in resume_text(saved)


def test_a_fold_is_not_told_to_be_run_again_by_hand():
    fold = made_up_run(state="failed", checkpoint_bytes=None, study="study1", fold=2)

    assert not resume_text(fold)
    assert run_end_state(fold, None, now_wall_s=NOW_WALL_S).lines == ()


def test_the_end_of_a_run_killed_for_want_of_memory_is_told_whole():
    run = made_up_run(
        state="failed", state_why="out of memory: the kernel killed it", cause="out of memory"
    )

    picture = run_end_state(run, read_last_minute(told()), now_wall_s=NOW_WALL_S)

    assert picture.title == f"{run.name}: Failed: out of memory"
    assert picture.lead == "Out of memory: the kernel killed it"
    assert len(picture.lines) == 4
    assert picture.tone == "crit"


def test_the_last_minute_is_asked_for_once_and_only_of_what_has_ended():
    asked: list[SeriesRequest] = []

    def ask(question: object) -> int:
        assert isinstance(question, SeriesRequest)
        asked.append(question)
        return len(asked)

    book, run = RunEndStore(ask), made_up_run("run1", state="lost", duration_s=1000.0)

    book.want(made_up_run("run2"))
    book.want(run)
    book.want(run)

    assert [(each.run, each.from_s) for each in asked] == [("run1", last_minute_start_s(run))]
    assert book.get("run1") is None
    assert book.apply_series(told())
    assert book.get("run1") is not None
    assert not book.apply_series(told())
    book.want(run)
    assert len(asked) == 1


def test_a_jump_is_no_rate():
    """50 s at 1 GiB, then 9 s at 5 GiB: most pairs of samples did not change at all."""
    jumped = read_last_minute(told(np.where(T < 82.0, 1.0, 5.0) * GIB))

    assert jumped is not None
    assert jumped.bytes_per_s == 0.0
    assert "1.0 GiB to 5.0 GiB, most of it at once" in with_plain_spaces(last_minute_text(jumped))
