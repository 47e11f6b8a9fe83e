"""Nothing is deleted for a clock that stepped; what is old goes all the same, a day later."""

from pathlib import Path

import pytest

from kmonitor_agent.wire.local.clock import CLOCK_NAME, WallClockCheck
from tests.support.clock import MovedClock

HOUR_S = 3600.0
DAY_S = 24 * HOUR_S
NOW_S = 1.8e9


class Looks:
    """Someone who looks at a clock; as a process with a file, or without."""

    def __init__(self, noted: Path | None = None) -> None:
        self.clock = MovedClock(wall_s=NOW_S - 2 * DAY_S)
        self.noted = noted
        self.begin()
        assert self.pass_by(48 * HOUR_S)[-1], "after two days of the usual"

    def begin(self) -> None:
        """A new process."""
        self.doubt = WallClockCheck(self.clock, self.noted)

    def at(self, *times_s: float) -> list[bool]:
        """Answers at times this much later than `NOW_S`."""
        answers: list[bool] = []
        for time_s in times_s:
            self.clock.jump_wall(NOW_S + time_s - self.clock.wall_s())
            answers.append(self.doubt.believes())
        return answers

    def pass_by(self, seconds: float) -> list[bool]:
        """Answers when the clock is checked every half hour."""
        answers = [self.doubt.believes()]
        for _ in range(round(seconds / 1800.0)):
            self.clock.move(1800.0)
            answers.append(self.doubt.believes())
        return answers


@pytest.fixture(params=["in memory", "noted"])
def looks(request: pytest.FixtureRequest, tmp_path: Path) -> Looks:
    return Looks(tmp_path if request.param == "noted" else None)


def test_a_clock_that_goes_is_believed(looks: Looks):
    assert looks.at(*(n * DAY_S / 2 for n in range(10))) == [True] * 10


def test_a_step_forward_is_doubted_until_a_day_was_seen_to_pass(looks: Looks):
    year_s = 365 * DAY_S

    assert looks.at(year_s, year_s + 23 * HOUR_S) == [False, False]
    assert looks.pass_by(25 * HOUR_S) == [False] * 48 + [True] * 3


def test_a_second_step_is_no_second_opinion(looks: Looks):
    assert looks.at(2 * DAY_S, 400 * DAY_S, 800 * DAY_S) == [False] * 3


def test_a_clock_that_is_set_back_is_believed_again_at_once(looks: Looks):
    assert looks.at(365 * DAY_S, 7200.0, 7260.0) == [False, True, True]


def test_small_corrections_change_nothing(looks: Looks):
    assert looks.at(60.0, 30.0, -600.0, 3600.0) == [True] * 4


def test_on_a_machine_that_is_rarely_on_what_is_old_goes_all_the_same(tmp_path: Path):
    looks = Looks(tmp_path)
    answers: list[bool] = []
    for n in range(1, 9):
        looks.at(3 * n * DAY_S)
        looks.begin()
        answers += looks.pass_by(4 * HOUR_S)[-1:]

    assert answers == [False] * 5 + [True] + [False] * 2


def test_a_process_that_begins_knows_what_was_noted(tmp_path: Path):
    looks = Looks(tmp_path)

    looks.begin()

    assert looks.at(60.0, 400 * DAY_S) == [True, False]
    looks.begin()
    assert looks.at(400 * DAY_S + 60) == [False]


@pytest.mark.parametrize(
    "noted",
    [b"", b"x y", b"1\n", b"nan 0\n", b"inf 0", b"1e9 0 0", b"2e9 nan", b"2e9 -1", b"\xff" * 50],
)
def test_where_no_time_was_noted_all_is_kept_for_a_day(tmp_path: Path, noted: bytes):
    (tmp_path / CLOCK_NAME).write_bytes(noted)
    clock = MovedClock(wall_s=NOW_S)
    doubt = WallClockCheck(clock, tmp_path)
    answers = [doubt.believes()]
    for _ in range(48):
        clock.move(1800.0)
        answers.append(doubt.believes())

    assert answers == [False] * 48 + [True]


def test_it_is_noted_now_and_then_and_not_at_each_look(tmp_path: Path):
    looks = Looks(tmp_path)
    before = (tmp_path / CLOCK_NAME).read_text()

    looks.at(60.0)
    assert (tmp_path / CLOCK_NAME).read_text() == before

    looks.at(700.0)
    assert (tmp_path / CLOCK_NAME).read_text() != before


def test_what_cannot_be_noted_is_known_all_the_same(tmp_path: Path):
    looks = Looks(tmp_path / "gone")

    assert looks.at(60.0, 400 * DAY_S) == [True, False]
