"""All runs ever recorded: which are found, in which order, and what the table says of them."""

import time
from datetime import datetime
from typing import Any

import pytest

from kmonitor.ui.history.history_table import history_cell, history_heads
from kmonitor.ui.history.run_history import (
    EVERYTHING,
    HistoryColumn,
    HistoryFilter,
    KnownHub,
    RunHistory,
    metric_of,
    parse_date_range,
)
from kmonitor.ui.run_tree.run_tree import MOST_ENDED, host_rows
from kmonitor.ui.runs.run_store import RunStore
from kmonitor.ui.text.formats import NOT_KNOWN, with_plain_spaces
from kmonitor_agent.wire.messages.unions import MetricReading, RunSummary
from tests.support.made_up_runs import GIB, MIB, NOW_WALL_S, made_up_run, told_runs

HOUR_S = 3600.0
DAY_S = 86400.0


def ended(run: str, **changed: Any) -> RunSummary:
    return made_up_run(run, **{"state": "finished", "actions": [], **changed})


class Shelf:
    """A book with runs, and the history over it."""

    def __init__(self, *runs: RunSummary, name: str = "", is_reached: bool = True) -> None:
        self.book = RunStore()
        self.book.apply_reply(told_runs(*runs))
        self.place = KnownHub(name, is_reached)
        self.asked: list[str] = []
        self.history = RunHistory(self._place_of)

    def found(self, wanted: HistoryFilter = EVERYTHING) -> list[str]:
        self.history.history_filter = wanted
        return [row.run for row in self.history.rows(self.book, now_wall_s=NOW_WALL_S)]

    def sorted_by(self, column: HistoryColumn, *, is_falling: bool) -> list[str]:
        self.history.sort(column, is_falling=is_falling)
        return self.found()

    def _place_of(self, at: str) -> KnownHub:
        self.asked.append(at)
        return self.place


def test_the_newest_start_stands_first_and_each_hub_is_asked_about_once():
    shelf = Shelf(ended("a", started_wall_s=1.0), ended("b", started_wall_s=3.0), made_up_run("c"))

    assert shelf.found() == ["c", "b", "a"]
    assert shelf.asked == [""]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("RESNET", ["a"]),
        ("gpu-02 unet", ["b"]),
        ("gpu-01 unet", []),
        ("baseline", ["b"]),
        ("vit", ["c"]),
        ("slurm", ["c"]),
        ("工作", ["c"]),
        ("run-b", ["b"]),
    ],
)
def test_words_are_found_in_name_host_model_note_job_and_id(words: str, found: list[str]):
    shelf = Shelf(
        ended("run-a"),
        ended("run-b", name="unet", model="u", host="gpu-02", note="The Baseline"),
        ended("run-c", name="c", model="vit", host="工作站", job="slurm 12"),
    )

    told = shelf.found(HistoryFilter(search_text=words))

    assert [run.removeprefix("run-") for run in told] == found


def test_a_renamed_run_is_found_by_its_new_name_only():
    shelf = Shelf(ended("a", name="before"))
    assert shelf.found(HistoryFilter(search_text="before")) == ["a"]

    shelf.book.apply_reply(told_runs(ended("a", name="after")))

    assert shelf.found(HistoryFilter(search_text="before")) == []
    assert shelf.found(HistoryFilter(search_text="after")) == ["a"]


def test_a_host_is_found_and_told_by_the_name_that_the_user_gave_it():
    shelf = Shelf(ended("a"), name="big one")

    assert shelf.found(HistoryFilter(search_text="big")) == ["a"]
    assert shelf.found(HistoryFilter(host="big one")) == ["a"]
    assert shelf.found(HistoryFilter(host="another")) == []
    assert shelf.history.hosts() == ["big one"]


def test_a_date_finds_what_started_then_in_this_machines_time():
    day = datetime(2026, 9, 21, 23, 30).astimezone().timestamp()
    shelf = Shelf(ended("a", started_wall_s=day), ended("b", started_wall_s=day + HOUR_S))

    assert shelf.found(HistoryFilter(search_text="2026-09-21")) == ["a"]
    assert shelf.found(HistoryFilter(search_text="2026-9-22")) == ["b"]
    assert shelf.found(HistoryFilter(search_text="2026-09")) == ["b", "a"]
    assert shelf.found(HistoryFilter(search_text="2026")) == ["b", "a"]
    assert shelf.found(HistoryFilter(search_text="2025-09")) == []


def test_verdicts_are_found_by_what_the_list_says_of_them():
    shelf = Shelf(
        ended("leaks", verdicts={"ram": "suspected", "graph": "suspected"}),
        ended("traces", verdicts={"graph": "suspected"}),
        ended("slows", verdicts={"step_time": "growing"}),
        ended("well", verdicts={}),
    )

    assert shelf.found(HistoryFilter(verdict_filter="suspected")) == ["leaks"]
    assert sorted(shelf.found(HistoryFilter(verdict_filter="growing"))) == ["leaks", "traces"]
    assert shelf.found(HistoryFilter(verdict_filter="slowing")) == ["slows"]
    assert shelf.found(HistoryFilter(verdict_filter="quiet")) == ["well"]


def test_what_looks_like_a_date_and_is_none_is_a_word():
    shelf = Shelf(ended("a", name="try 2026-13-41 of 9999"))

    assert parse_date_range("2026-13-41") is None
    assert parse_date_range("epoch") is None
    assert shelf.found(HistoryFilter(search_text="2026-13-41")) == ["a"]
    assert shelf.found(HistoryFilter(search_text="9999")) == ["a"]
    december = parse_date_range("2026-12")
    assert december is not None
    assert december[1] == datetime(2027, 1, 1).astimezone().timestamp()


def test_filters_leave_out_what_does_not_fit():
    shelf = Shelf(
        made_up_run("live", started_wall_s=NOW_WALL_S - HOUR_S),
        ended("week", started_wall_s=NOW_WALL_S - 3 * DAY_S, verdicts={"ram": "suspected"}),
        ended("month", started_wall_s=NOW_WALL_S - 20 * DAY_S, state="lost", pinned=True),
        ended("old", started_wall_s=NOW_WALL_S - 200 * DAY_S, verdicts={"ram": "growing"}),
    )

    assert shelf.found(HistoryFilter(start_filter="day")) == ["live"]
    assert shelf.found(HistoryFilter(start_filter="week")) == ["live", "week"]
    assert shelf.found(HistoryFilter(start_filter="month")) == ["live", "week", "month"]
    assert shelf.found(HistoryFilter(start_filter="older")) == ["old"]
    assert shelf.found(HistoryFilter(end_filter="running")) == ["live"]
    assert shelf.found(HistoryFilter(end_filter="finished")) == ["week", "old"]
    assert shelf.found(HistoryFilter(end_filter="failed")) == ["month"]
    assert shelf.found(HistoryFilter(verdict_filter="suspected")) == ["week"]
    assert shelf.found(HistoryFilter(verdict_filter="growing")) == ["old"]
    assert shelf.found(HistoryFilter(verdict_filter="quiet")) == ["live", "month"]
    assert shelf.found(HistoryFilter(is_pinned=True)) == ["month"]
    assert shelf.history.count_text(1) == "1 of 4 runs"


def test_every_column_sorts_both_ways():
    shelf = Shelf(
        ended("a", name="Alpha", host="x", started_wall_s=2.0, stored_bytes=5, epochs_done=1),
        ended("b", name="beta", host="Y", started_wall_s=1.0, stored_bytes=9, epochs_done=7),
        made_up_run("c", name="gamma", host="z", started_wall_s=3.0, duration_s=9e9, note="n"),
    )

    for head in history_heads():
        rising = shelf.sorted_by(head.key, is_falling=False)
        assert sorted(rising) == ["a", "b", "c"]
    assert shelf.sorted_by("name", is_falling=False) == ["a", "b", "c"]
    assert shelf.sorted_by("host", is_falling=True) == ["c", "b", "a"]
    assert shelf.sorted_by("started", is_falling=False) == ["b", "a", "c"]
    assert shelf.sorted_by("stored", is_falling=True)[0] == "b"
    assert shelf.sorted_by("epochs", is_falling=False) == ["a", "b", "c"]
    assert shelf.sorted_by("ran", is_falling=True)[0] == "c"
    assert shelf.sorted_by("note", is_falling=True)[0] == "c"


def test_what_is_not_known_stands_last_whichever_way_it_is_sorted():
    shelf = Shelf(
        ended("none", vram=MetricReading(absent="no GPU"), started_wall_s=9.0),
        ended("much", vram=MetricReading(value=9 * GIB)),
        ended("less", vram=MetricReading(value=GIB)),
    )

    assert shelf.sorted_by("vram", is_falling=True) == ["much", "less", "none"]
    assert shelf.sorted_by("vram", is_falling=False) == ["less", "much", "none"]


def test_the_worst_verdicts_sort_to_the_top():
    shelf = Shelf(
        ended("quiet", started_wall_s=9.0),
        ended("grows", verdicts={"ram": "growing", "graph": "growing"}),
        ended("leaks", verdicts={"ram": "suspected"}),
    )

    assert shelf.sorted_by("verdicts", is_falling=True) == ["leaks", "grows", "quiet"]


def test_a_graph_that_grows_is_no_leak_where_verdicts_are_sorted():
    shelf = Shelf(
        ended("slows", started_wall_s=9.0, verdicts={"step_time": "growing"}),
        ended("traces", started_wall_s=8.0, verdicts={"graph": "suspected"}),
        ended("both", verdicts={"ram": "growing", "graph": "growing"}),
        ended("leaks", verdicts={"ram": "suspected"}),
    )

    assert shelf.sorted_by("verdicts", is_falling=True) == ["leaks", "both", "traces", "slows"]


def test_a_row_stays_the_same_object_until_something_of_it_changes():
    shelf = Shelf(ended("a"), ended("b"))
    before = {r.run: r for r in shelf.history.rows(shelf.book, now_wall_s=NOW_WALL_S)}

    shelf.book.apply_reply(told_runs(ended("b", note="new")))
    after = {r.run: r for r in shelf.history.rows(shelf.book, now_wall_s=NOW_WALL_S)}
    shelf.place = KnownHub("", is_reached=False)
    lost = {r.run: r for r in shelf.history.rows(shelf.book, now_wall_s=NOW_WALL_S)}

    assert after["a"] is before["a"]
    assert after["b"] is not before["b"]
    assert lost["a"] is not after["a"]


def test_what_is_gone_is_found_no_more():
    shelf = Shelf(ended("a"), ended("b"))
    assert len(shelf.found(HistoryFilter(search_text="resnet"))) == 2

    shelf.book.leave("")

    assert shelf.found() == []
    assert shelf.history.empty_text().startswith("No runs yet")


def test_an_empty_table_says_why():
    shelf = Shelf(ended("a"))
    assert shelf.found(HistoryFilter(search_text="nobody")) == []

    assert "Clear them" in shelf.history.empty_text()
    assert shelf.history.count_text(0) == "0 of 1 runs"
    assert shelf.history.count_text(1) == "1 run"
    shelf.book.apply_reply(told_runs(ended("b")))
    shelf.found()
    assert shelf.history.count_text(2) == "2 runs"


def test_cells_say_all_of_a_run():
    run = ended(
        "a",
        state="lost",
        cause="out of memory",
        verdicts={"ram": "suspected", "step_time": "growing", "graph": "growing"},
        stored_bytes=int(12 * MIB),
        pinned=True,
        job="slurm 7",
        note="one\ntwo",
        vram=MetricReading(absent="no GPU here"),
    )
    shelf = Shelf(run)
    (row,) = shelf.history.rows(shelf.book, now_wall_s=NOW_WALL_S)

    cells = {h.key: history_cell(row, h.key, now_wall_s=NOW_WALL_S) for h in history_heads()}

    texts = {key: with_plain_spaces(cell.text) for key, cell in cells.items()}
    assert texts["name"] == "resnet50-imagenet"
    assert (cells["name"].icon, "slurm 7" in cells["name"].tooltip) == ("pin", True)
    assert texts["state"] == "Lost: out of memory"
    assert texts["verdicts"] == "RAM leak suspected, Graph size growing, Step time slowing down"
    assert cells["verdicts"].tone == "crit"
    assert texts["ran"] == "1 h 2 min"
    assert (texts["ram"], texts["vram"]) == ("73.4 GiB", NOT_KNOWN)
    assert cells["vram"].tooltip == "no GPU here"
    assert (texts["graph"], texts["step_time"], texts["epochs"]) == ("24 374", "272 ms", "36")
    assert (texts["stored"], texts["host"]) == ("12.0 MiB", "gpu-01")
    assert (texts["note"], cells["note"].tooltip) == ("one", "one\ntwo")
    moment = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.started_wall_s))
    assert texts["started"] == moment


def test_a_run_in_which_nothing_grows_has_an_empty_verdict():
    shelf = Shelf(ended("a", model="", job=""), ended("b", verdicts={"ram": "growing"}))
    rows = {row.run: row for row in shelf.history.rows(shelf.book, now_wall_s=NOW_WALL_S)}

    assert history_cell(rows["a"], "verdicts", now_wall_s=NOW_WALL_S).text == ""
    assert history_cell(rows["b"], "verdicts", now_wall_s=NOW_WALL_S).tone == "warn"
    tooltip = history_cell(rows["a"], "name", now_wall_s=NOW_WALL_S).tooltip
    assert tooltip == "resnet50-imagenet\na"


def test_a_living_run_of_a_lost_hub_says_so():
    shelf = Shelf(made_up_run("a"), is_reached=False)
    (row,) = shelf.history.rows(shelf.book, now_wall_s=NOW_WALL_S + 60.0)

    cell = history_cell(row, "state", now_wall_s=NOW_WALL_S + 60.0)

    assert with_plain_spaces(cell.text) == "No data for 1 min"
    assert metric_of("state") is None


def test_the_tree_leaves_old_runs_to_the_history_but_finds_them():
    runs = [
        ended(f"r{i}", name=f"exp {i}", started_wall_s=float(i)) for i in range(MOST_ENDED + 9)
    ]
    book = RunStore()
    book.apply_reply(told_runs(*runs, made_up_run("live")))
    book.select("r1")

    def shown(search: str = "") -> list[str]:
        rows = host_rows(book, search=search, now_wall_s=NOW_WALL_S, is_connected=True)
        return [run.run for host in rows for run in host.runs]

    assert len(shown()) == MOST_ENDED + 2
    assert {"live", "r1", f"r{MOST_ENDED + 8}"} <= set(shown())
    assert "r3" not in shown()
    assert shown("exp 3") != []
    assert "r3" in shown("exp 3")
