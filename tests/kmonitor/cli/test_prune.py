"""Runs that `kmonitor runs prune` takes, and the ways to type amounts."""

import pytest

from kmonitor.cli.common.options import bytes_from, seconds_from
from kmonitor.cli.common.terminal import UsageError
from kmonitor.cli.hub.command import chosen_keep, keep_text
from kmonitor.cli.runs import runs_to_remove
from kmonitor.hub.options import Keep
from kmonitor.ui.text.formats import with_plain_spaces
from tests.support.made_up_runs import NOW_WALL_S, made_up_run

_DAY_S = 86400.0
RUNS = [
    made_up_run("young", state="finished", last_wall_s=NOW_WALL_S - _DAY_S),
    made_up_run("old", state="finished", last_wall_s=NOW_WALL_S - 40 * _DAY_S, stored_bytes=10),
    made_up_run("oldest", state="lost", last_wall_s=NOW_WALL_S - 50 * _DAY_S, stored_bytes=999),
    made_up_run("living", state="training", last_wall_s=NOW_WALL_S - 60 * _DAY_S),
    made_up_run("silent", state="silent", last_wall_s=NOW_WALL_S - 60.0),
    made_up_run("abandoned", state="silent", last_wall_s=NOW_WALL_S - 31 * _DAY_S),
    made_up_run("pinned", state="finished", last_wall_s=NOW_WALL_S - 90 * _DAY_S, pinned=True),
]


@pytest.mark.parametrize(
    ("age_days", "n_bytes", "names"),
    [
        (30, 0, ["oldest", "old", "abandoned"]),
        (30, 100, ["oldest"]),
        (0, 10, ["oldest", "old"]),
        (365, 0, []),
    ],
)
def test_only_ended_runs_go_that_are_old_and_large(age_days: int, n_bytes: int, names: list[str]):
    found = runs_to_remove(RUNS, age_s=age_days * _DAY_S, n_bytes=n_bytes, now_wall_s=NOW_WALL_S)

    assert [run.run for run in found] == names


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30d", 30 * _DAY_S), ("12h", 43200), ("2w", 14 * _DAY_S), ("1.5", 129600)],
)
def test_times_are_typed_with_their_unit(text: str, seconds: float):
    assert seconds_from(text, "--older-than") == seconds


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [("20GiB", 20 * 2**30), ("1.5 MB", 1_500_000), ("7B", 7), ("0", 0), ("1g", 2**30)],
)
def test_sizes_are_typed_with_their_unit(text: str, n_bytes: int):
    assert bytes_from(text, "--keep-size") == n_bytes


@pytest.mark.parametrize("text", ["", "x", "30 parsecs", "-1d", "1e9", "\u0663d"])
def test_what_is_no_amount_is_refused_with_an_example(text: str):
    with pytest.raises(UsageError, match="30d"):
        seconds_from(text, "--older-than")
    with pytest.raises(UsageError, match="20GiB"):
        bytes_from(text, "--keep-size")


@pytest.mark.parametrize("text", ["5", "0.5", "20000000000"])
def test_a_size_without_a_unit_is_refused_since_history_goes_by_it(text: str):
    with pytest.raises(UsageError, match="with a unit"):
        bytes_from(text, "--keep-size")


def test_an_option_wins_over_what_is_stored():
    stored = Keep(days=30, n_bytes=5)

    assert chosen_keep(stored, None, "1KiB") == Keep(days=30, n_bytes=1024)
    assert chosen_keep(stored, 7, None) == Keep(days=7, n_bytes=5)
    with pytest.raises(UsageError, match="30"):
        chosen_keep(stored, -1, None)
    assert keep_text(0, 0) == "All history is kept."
    assert "last 30 days, at most 5 B" in with_plain_spaces(keep_text(30, 5))
    assert "at most 5 B of runs that ended;" in with_plain_spaces(keep_text(0, 5))
