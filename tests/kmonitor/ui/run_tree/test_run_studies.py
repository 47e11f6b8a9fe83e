"""A study is one row of the tree, with the runs of its folds below it."""

import msgspec

from kmonitor.ui.events.event_log import event_line
from kmonitor.ui.history.history_table import history_cell
from kmonitor.ui.history.run_history import KnownHub, RunHistory
from kmonitor.ui.run_tree.run_tree import RunRow, host_rows
from kmonitor.ui.runs.run_states import run_state_label
from kmonitor.ui.runs.run_store import RunStore
from kmonitor_agent.wire.messages.events import FoldEnded, StudyStarted, StudyTally
from kmonitor_agent.wire.messages.unions import RunSummary
from tests.support.made_up_runs import NOW_WALL_S, made_up_run, told_runs
from tests.support.made_up_studies import RUNNING, STUDY, MadeUpStudy

ENDED = {"state": "finished"}


def rows_of(*runs: RunSummary, selected: str = "", search: str = "") -> list[RunRow]:
    book = RunStore()
    book.apply_reply(told_runs(*runs))
    if selected:
        book.select(selected)
    hosts = host_rows(book, search=search, now_wall_s=NOW_WALL_S, is_connected=True)
    return [row for host in hosts for row in host.runs]


def test_a_study_that_runs_stands_above_its_folds():
    rows = rows_of(*MadeUpStudy(RUNNING).runs(), made_up_run("other"))

    names = [(row.name, row.depth) for row in rows]
    assert names[names.index(("train.py \u00b7 cv", 0)) + 1] == ("fold 0", 1)
    assert [row.name for row in rows if row.depth] == [f"fold {at}" for at in range(7)]
    (study,) = [row for row in rows if row.run == STUDY]
    assert study.line.startswith("5 of 10 folds \u00b7 2 running")
    assert study.fraction == 0.5


def test_many_folds_are_folded_away_until_one_is_looked_for():
    runs = MadeUpStudy(["finished"] * 9 + ["running"]).runs()

    assert [row.run for row in rows_of(*runs, selected=STUDY)] == [STUDY]
    assert len(rows_of(*runs, selected="fold3")) == 11
    assert len(rows_of(*runs, search="train")) == 11


def test_an_ended_study_is_folded_away_until_it_is_looked_at():
    runs = [*MadeUpStudy(["finished"] * 3, study=ENDED).runs(), made_up_run("other")]

    assert [row.run for row in rows_of(*runs, selected="other") if row.run != "other"] == [STUDY]
    assert len(rows_of(*runs, selected=STUDY)) == 5


def test_a_study_that_is_lost_says_so_before_all_else():
    rows = rows_of(*MadeUpStudy(["finished", "running"], study={"state": "lost"}).runs())

    assert rows[0].line == "Lost \u00b7 1 of 2 folds"
    assert rows[0].fraction is None


def test_folds_whose_study_is_not_known_stay_runs():
    _, *folds = MadeUpStudy(["finished", "finished"]).runs()

    assert [row.depth for row in rows_of(*folds)] == [0, 0]


def test_a_fold_on_another_host_says_where():
    own, fold = MadeUpStudy(["running"]).runs()

    rows = rows_of(own, msgspec.structs.replace(fold, host="gpu-02"))

    assert rows[1].name == "fold 0 \u00b7 gpu-02"


def test_the_mark_of_a_fold_is_seen_on_its_study():
    own, fold = MadeUpStudy(["running"], study=ENDED).runs()
    marked = msgspec.structs.replace(fold, verdicts={"ram": "suspected"})

    rows = rows_of(own, marked, made_up_run("other"), selected="other")

    (study,) = [row for row in rows if row.run == STUDY]
    assert "leak suspected" in study.mark
    assert study.mark in study.tooltip


def test_a_study_is_selected_before_its_folds_and_is_no_curve_on_charts():
    own, *folds = MadeUpStudy(["running"] * 2).runs()
    book = RunStore()
    book.apply_reply(told_runs(made_up_run("old", state="finished")))

    book.apply_reply(told_runs(own, *folds))

    assert book.selected == STUDY
    book.select("fold0")
    assert {run.run for run in book.shown()} == {"fold0", "fold1"}


def test_who_opens_the_window_sees_a_study_before_its_newest_fold():
    own, *folds = MadeUpStudy(["finished"] * 3, study=ENDED).runs()
    book = RunStore()

    book.apply_reply(told_runs(*folds, own))

    assert book.selected == STUDY


def test_a_study_runs_and_does_not_train():
    own = MadeUpStudy(["running"]).runs()[0]

    assert run_state_label(own, now_wall_s=NOW_WALL_S).label == "Running"


def test_the_log_tells_begin_and_ends():
    def line(event: StudyStarted | FoldEnded) -> tuple[str, str]:
        found = event_line(event, name="")
        assert found is not None
        return found.level, found.text

    started = StudyStarted(t_s=0.0, function="train.py:train", folds=5)
    again = msgspec.structs.replace(started, tally=StudyTally(over=2))
    hung = FoldEnded(t_s=1.0, fold=2, attempt=1, cause="hang", again=True, why="no step")
    done = FoldEnded(t_s=1.0, fold=2, attempt=2, cause="finished")

    assert line(started) == ("info", "Study of 5 folds: train.py:train")
    assert line(again) == (
        "info",
        "Study of 5 folds resumed: train.py:train, 2 already finished",
    )
    search = msgspec.structs.replace(started, folds=0)
    assert line(search) == ("info", "Search: train.py:train")
    assert line(msgspec.structs.replace(search, tally=StudyTally(over=2))) == (
        "info",
        "Search resumed: train.py:train, 2 already finished",
    )
    assert line(msgspec.structs.replace(started, folds=1))[1] == "Study of 1 fold: train.py:train"
    assert line(hung) == ("warning", "fold 2: Hung, no step; it will be retried")
    assert line(done) == ("info", "fold 2: Finished, attempt 2")


def test_the_history_counts_the_folds_of_a_study():
    own, fold = MadeUpStudy(["finished"], study=ENDED).runs()
    book = RunStore()
    book.apply_reply(told_runs(own, fold))
    history = RunHistory(lambda _: KnownHub("", is_reached=True))

    cells = {
        row.summary.run: history_cell(row, "epochs", now_wall_s=NOW_WALL_S).text
        for row in history.rows(book, now_wall_s=NOW_WALL_S)
    }

    assert cells == {STUDY: "1 of 1 fold", "fold0": "9"}
