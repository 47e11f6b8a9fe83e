"""Runs of one script are distinguished where they are compared."""

import msgspec

from kmonitor.ui.compare.comparison import distinct_run_names
from kmonitor_agent.wire.messages.unions import RunSummary
from tests.support.made_up_runs import made_up_run

NOW_S = 1_790_000_000.0


def run(number: str, name: str, started_wall_s: float) -> RunSummary:
    made = made_up_run(number, name=name)
    return msgspec.structs.replace(made, started_wall_s=started_wall_s)


def names(*runs: RunSummary) -> list[str]:
    return list(distinct_run_names(runs, now_wall_s=NOW_S).values())


def test_names_of_their_own_stay_as_they_are():
    assert names(run("a" * 32, "unet", NOW_S), run("b" * 32, "vit", NOW_S)) == ["unet", "vit"]


def test_one_name_is_told_apart_by_the_start():
    found = distinct_run_names(
        [run("1", "train", NOW_S), run("2", "train", NOW_S - 3600.0), run("3", "vit", NOW_S)],
        now_wall_s=NOW_S,
    )

    assert found["3"] == "vit"
    assert found["1"].startswith("train \u00b7 ")
    assert len(set(found.values())) == 3


def test_what_started_together_is_told_apart_by_its_id():
    assert names(run("a" * 32, "train", NOW_S), run("b" * 32, "train", NOW_S)) == [
        "train \u00b7 aaaaaaaa",
        "train \u00b7 bbbbbbbb",
    ]
