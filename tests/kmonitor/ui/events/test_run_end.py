"""The end of a run, with the last minute of its memory."""

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
from kmonitor.ui.runs.run_states import error_sentence
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor_agent.wire.messages.unions import SeriesReply, SeriesRequest, ThinnedColumn
from kmonitor_agent.wire.messages.verdict_events import COUNTED_METRICS
from tests.support.made_up_runs import GIB, NOW_WALL_S, made_up_run

T = np.arange(0.0, 91.0)
RAM = (1.0 + 0.05 * T) * GIB


def told(ram: np.ndarray = RAM, *, of: float = 8 * GIB, group: float | None = None) -> SeriesReply:
    columns = [
        ThinnedColumn("ram_bytes", T[: len(ram)].tobytes(), ram.tobytes(), len(ram)),
        ThinnedColumn("ram_of_bytes", T[:1].tobytes(), np.array([of]).tobytes(), 1),
    ]
    if group is not None:
        left, limit = np.array([1.0]).tobytes(), np.array([group]).tobytes()
        columns.append(ThinnedColumn("cgroup_limit_bytes", T[:1].tobytes(), limit, 1))
        names = ("ram_left_bytes", "cgroup_left_bytes")
        columns += [ThinnedColumn(name, T[:1].tobytes(), left, 1) for name in names]
    return SeriesReply(request_id=1, run="run1", columns=columns, row=1)


def test_the_last_minute_is_told_with_its_rate_and_the_limit_of_the_group():
    """From 30 s, 2.5 GiB, to 90 s, 5.5 GiB: 51.2 MiB a second."""
    minute = read_last_minute(told(group=8 * GIB))

    assert minute is not None
    assert with_plain_spaces(last_minute_text(minute)) == (
        "RAM over the last 60.0 s: 2.5 GiB to 5.5 GiB, +51.2 MiB / s; cgroup limit 8.0 GiB"
    )
    assert (
        with_plain_spaces(last_minute_peak_text(minute)) == "Highest of 61 samples: 5.5 GiB (69%)"
    )


def test_the_account_of_the_group_is_what_is_told_of_one_that_kills():
    reply = told(group=8 * GIB)
    used = (2.0 + 0.065 * T) * GIB
    account = ThinnedColumn("cgroup_used_bytes", T.tobytes(), used.tobytes(), len(T))
    with_account = SeriesReply(request_id=1, run="run1", columns=[*reply.columns, account], row=1)

    minute = read_last_minute(with_account)

    assert minute is not None
    assert with_plain_spaces(last_minute_text(minute)) == (
        "Cgroup RAM over the last 60.0 s: 4.0 GiB to 7.9 GiB, +66.6 MiB / s; cgroup limit 8.0 GiB"
    )


def test_without_a_group_what_can_be_had_is_told():
    minute = read_last_minute(told())

    assert minute is not None
    assert "8.0 GiB available" in with_plain_spaces(last_minute_text(minute))


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

    assert "Nothing was saved" in resume_text(nothing)
    assert "kmonitor run --resume-after-crash" in resume_text(nothing)
    assert with_plain_spaces(resume_text(saved)).startswith(
        "Its state from epoch 12 is saved (1.0 GiB)"
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


def resources(**used_and_whole: tuple[float, float]) -> list[ThinnedColumn]:
    """Columns of the last sample of each resource."""
    columns: list[ThinnedColumn] = []
    for metric, amounts in used_and_whole.items():
        for name, amount in zip(COUNTED_METRICS[metric], amounts, strict=True):  # type: ignore[index]
            columns.append(ThinnedColumn(name, T[-1:].tobytes(), np.array([amount]).tobytes(), 1))
    return columns


def ended(why: str, *columns: ThinnedColumn, cause: str = "") -> list[str]:
    """Lines of a run that failed while RAM was far from its end."""
    reply = told(np.full(91, GIB))
    reply = SeriesReply(request_id=1, run="run1", columns=[*reply.columns, *columns], row=1)
    run = made_up_run(state="failed", state_why=why, cause=cause, checkpoint_bytes=None)
    state = run_end_state(run, read_last_minute(reply), now_wall_s=NOW_WALL_S)
    return [with_plain_spaces(line) for line in state.lines]


def test_what_ran_out_is_said_in_place_of_ram():
    lines = ended(
        "OSError: [Errno 24] Too many open files: 'data/part-3.bin'",
        *resources(open_files=(698.0, 700.0), threads=(20.0, 30_000.0)),
    )

    assert lines[0] == "Open file descriptors: 698 of 700 in the last sample, 2 left"
    assert "RAM" not in " ".join(lines)


def test_of_disks_the_fullest_is_the_one_that_ran_out():
    lines = ended(
        "OSError: [Errno 28] No space left on device",
        *resources(disk=(64.0 * GIB, 64.1 * GIB), temp_disk=(GIB, 64 * GIB)),
    )

    assert lines[0].startswith("Disk: 64.0 GiB of 64.1 GiB")
    assert not any(line.startswith("Temporary files") for line in lines)


def test_a_death_that_has_nothing_to_do_with_memory_shows_none():
    assert "RAM" not in " ".join(ended("ValueError: a shape is wrong", cause="exit status 1"))
    assert "RAM" in " ".join(ended("numpy ... Unable to allocate 3 GiB"))
    assert "RAM" in " ".join(ended("SIGKILL: killed", cause="SIGKILL"))


def test_memory_that_was_nearly_used_up_is_shown_whatever_the_error():
    reply = told(np.full(91, 7.5 * GIB))
    run = made_up_run(state="failed", state_why="ValueError: odd")

    state = run_end_state(run, read_last_minute(reply), now_wall_s=NOW_WALL_S)

    assert any("RAM over the last" in line for line in state.lines)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("ValueError: a shape is wrong", "ValueError: a shape is wrong"),
        ("InternalError: Graph execution error:\n\nOOM at node 7\nmore", ("InternalError: Graph"
         " execution error: OOM at node 7")),
        ("E: first. " + "x" * 5000, "E: first."),
        ("E: " + "word " * 1000, "E: " + ("word " * 31).rstrip() + "\u2026"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_huge_error_is_cut_to_its_sentence(text: str, sentence: str):
    assert error_sentence(text) == sentence
