"""Processes of one strategy stand under one row, with their ranks."""

from typing import Any

from kmonitor.ui.run_tree.run_tree import RunRow, groups_of, host_rows
from kmonitor.ui.runs.run_store import RunStore
from kmonitor_agent.wire.messages.unions import RunSummary
from tests.support.made_up_runs import NOW_WALL_S, made_up_run, told_runs

_NAME = "job 7 \u00b7 train"


def ranked(rank: int, group: str = "slurm 7.0", of: int = 4, **more: Any) -> RunSummary:
    run = f"{group[-3:]}-{rank}".replace(" ", "_")
    return made_up_run(
        **{"run": run, "name": _NAME, "rank": rank, "world_size": of, "group": group, **more}
    )


def rows_of(*runs: RunSummary, search: str = "", selected: str = "") -> list[RunRow]:
    book = RunStore()
    book.apply_reply(told_runs(*runs))
    if selected:
        book.select(selected)
    hosts = host_rows(book, search=search, now_wall_s=NOW_WALL_S, is_connected=True)
    return [row for host in hosts for row in host.runs]


def test_ranks_stand_below_the_row_of_the_first():
    rows = rows_of(ranked(1), ranked(0), ranked(3, host="gpu-04"), ranked(2), made_up_run("alone"))
    (lead,) = [row for row in rows if row.name == _NAME]
    at = rows.index(lead)

    assert [row.name for row in rows[at + 1 : at + 4]] == [
        "rank 1",
        "rank 2",
        "rank 3 \u00b7 gpu-04",
    ]
    assert [row.depth for row in rows[at : at + 4]] == [0, 1, 1, 1]
    assert lead.run.endswith("-0")
    assert lead.line.startswith("4 ranks \u00b7 epoch 37/90")
    assert len(rows) == 5


def test_missing_ranks_are_counted():
    lead = rows_of(ranked(2), ranked(0))[0]

    assert lead.line.startswith("2 of 4 ranks")


def test_a_rank_in_trouble_is_told_in_the_row_of_all():
    lead = rows_of(ranked(0), ranked(1, state="lost", last_wall_s=NOW_WALL_S))[0]

    assert lead.line == "2 of 4 ranks \u00b7 rank 1: Lost"


def test_many_ranks_have_rows_only_when_one_is_looked_at():
    runs = [ranked(n, of=64) for n in range(64)]
    other = made_up_run("other", started_wall_s=NOW_WALL_S)

    assert len(rows_of(*runs, other, selected="other")) == 2
    assert len(rows_of(*runs, other, selected=runs[9].run)) == 65
    assert len(rows_of(*runs, other, search="train")) == 64


def test_a_rank_alone_is_a_run_like_any_other():
    (row,) = rows_of(ranked(1))

    assert (row.name, row.depth) == (_NAME, 0)


def test_a_rank_that_comes_again_began_another_launch():
    first = [ranked(n, run=f"a{n}", started_wall_s=1000.0 + n) for n in (0, 1)]
    again = [ranked(n, run=f"b{n}", started_wall_s=2000.0 + n) for n in (1, 0)]
    groups = groups_of([*again, *first])

    assert [run.run for run in groups["a1"].members] == ["a0", "a1"]
    assert [run.run for run in groups["b0"].members] == ["b0", "b1"]


def test_runs_without_a_group_are_never_one():
    assert groups_of([ranked(0, group=""), ranked(1, group="")]) == {}
