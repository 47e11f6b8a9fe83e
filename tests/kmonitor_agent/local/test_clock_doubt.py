"""Nothing is deleted for a clock that stepped; what is old goes all the same, a day later."""

import os
from pathlib import Path

import pytest

from kmonitor_agent.local.clock_doubt import CLOCK_NAME, SeenTimes, is_clock_believed
from kmonitor_agent.local.run_spool import KEEP_ACKED_S, RunSpool
from kmonitor_agent.local.spool_format import encode_record, segment_head, segment_name
from tests.support.links import FACTS, body

HOUR_S = 3600.0
DAY_S = 24 * HOUR_S
NOW_S = 1.8e9


def pass_by(folder: Path, from_s: float, to_s: float) -> list[bool]:
    """What is answered when one looks every half hour."""
    n = round((to_s - from_s) / (HOUR_S / 2))
    return [is_clock_believed(folder, NOW_S + from_s + i * HOUR_S / 2) for i in range(n + 1)]


def believed(folder: Path, *looks_s: float) -> list[bool]:
    """What is answered at these times, after two days of the usual."""
    assert pass_by(folder, -2 * DAY_S, 0.0)[-1]
    return [is_clock_believed(folder, NOW_S + each_s) for each_s in looks_s]


def test_a_clock_that_goes_is_believed(tmp_path: Path):
    assert believed(tmp_path, *(n * DAY_S / 2 for n in range(10))) == [True] * 10


def test_a_step_forward_is_doubted_until_a_day_was_seen_to_pass(tmp_path: Path):
    year_s = 365 * DAY_S

    assert believed(tmp_path, year_s, year_s + 23 * HOUR_S) == [False, False]
    answers = pass_by(tmp_path, year_s + 23 * HOUR_S, year_s + 48 * HOUR_S)

    assert answers == [False] * 48 + [True] * 3


def test_a_second_step_is_no_second_opinion(tmp_path: Path):
    assert believed(tmp_path, 2 * DAY_S, 400 * DAY_S, 800 * DAY_S) == [False] * 3


def test_a_clock_that_is_set_back_is_believed_again_at_once(tmp_path: Path):
    assert believed(tmp_path, 365 * DAY_S, 7200.0, 7260.0) == [False, True, True]


def test_small_corrections_change_nothing(tmp_path: Path):
    assert believed(tmp_path, 60.0, 30.0, -600.0, 3600.0) == [True] * 4


def test_on_a_machine_that_is_rarely_on_what_is_old_goes_all_the_same(tmp_path: Path):
    believed(tmp_path)
    answers: list[bool] = []
    for n in range(1, 9):
        answers += pass_by(tmp_path, 3 * n * DAY_S, 3 * n * DAY_S + 4 * HOUR_S)[-1:]

    assert answers == [False] * 5 + [True] + [False] * 2


@pytest.mark.parametrize(
    "noted",
    [
        b"",
        b"x y\n",
        b"1\n",
        b"nan 0\n",
        b"inf 0\n",
        b"1e9 0 0\n",
        b"2e9 nan",
        b"2e9 -1",
        b"\xff" * 50,
    ],
)
def test_where_no_time_was_noted_all_is_kept_for_a_day(tmp_path: Path, noted: bytes):
    (tmp_path / CLOCK_NAME).write_bytes(noted)

    answers = pass_by(tmp_path, 0, DAY_S)

    assert not any(answers[:-1])
    assert answers[-1]


def test_it_is_noted_now_and_then_and_not_at_each_look(tmp_path: Path):
    believed(tmp_path)
    before = (tmp_path / CLOCK_NAME).stat().st_mtime_ns

    is_clock_believed(tmp_path, NOW_S + 60.0)

    assert (tmp_path / CLOCK_NAME).stat().st_mtime_ns == before
    assert SeenTimes(NOW_S).then(NOW_S + 60.0) == SeenTimes(NOW_S + 60.0)


def test_confirmed_events_outlive_a_clock_that_stepped(tmp_path: Path):
    folder = tmp_path / FACTS.run
    folder.mkdir(mode=0o700)
    path = folder / segment_name(1)
    path.write_bytes(segment_head(FACTS) + encode_record(1, body(1)))
    spool = RunSpool.take(folder)
    assert spool is not None
    with spool:
        spool.mark_acked(1)
        os.utime(path, (NOW_S, NOW_S))
        believed(tmp_path)

        assert spool.expire(NOW_S + 365 * DAY_S) == 0
        assert spool.expire(NOW_S + HOUR_S) == 0
        pass_by(tmp_path, 0, KEEP_ACKED_S)
        assert spool.expire(NOW_S + KEEP_ACKED_S + HOUR_S) > 0
