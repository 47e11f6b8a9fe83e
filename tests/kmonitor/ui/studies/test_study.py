"""A study's page: how each fold stands, when the study ends, what its folds took."""

import msgspec
import pytest

from kmonitor.ui.studies.fold_charts import fold_memory_state
from kmonitor.ui.studies.folds import (
    AttemptState,
    attempts_by_fold,
    describe_fold_end,
    fold_text,
    last_attempts,
)
from kmonitor.ui.studies.study_page import (
    StudyForecast,
    StudyState,
    study_forecast,
    study_forecast_text,
    study_progress_text,
    study_state,
)
from kmonitor.ui.studies.study_store import StudyRecord, StudyStore, folds_of, is_study
from kmonitor_agent.wire.messages.events import (
    AnyEvent,
    Fault,
    FoldEnded,
    FoldProgress,
    FoldStarted,
    StudyStarted,
    StudyTally,
)
from kmonitor_agent.wire.messages.unions import RunSummary
from tests.support.made_up_runs import GIB, NOW_WALL_S, made_up_row, made_up_run
from tests.support.made_up_studies import RUNNING, STUDY, MadeUpStudy

ENDED = {"state": "finished"}


def record_of(events: list[AnyEvent]) -> StudyRecord:
    book = StudyStore()
    for row, event in enumerate(events, start=1):
        book.apply_event(made_up_row(row, event, STUDY), event)
    return book.get(STUDY)


def tries_in(study: MadeUpStudy) -> tuple[tuple[AttemptState, ...], ...]:
    own, *folds = study.runs()
    record = record_of(study.events())
    return attempts_by_fold(own, record, folds_of(own, folds), now_wall_s=NOW_WALL_S)


def page_of(study: MadeUpStudy) -> StudyState:
    own = study.runs()[0]
    record = record_of(study.events())
    return study_state(own, record, tries_in(study), now_wall_s=NOW_WALL_S)


def own_run(study: MadeUpStudy) -> RunSummary:
    return study.runs()[0]


def test_each_fold_stands_as_its_last_try_ended():
    states = [each.state for each in last_attempts(tries_in(MadeUpStudy(RUNNING)))]

    assert states == [
        "finished",
        "finished",
        "finished",
        "out_of_memory",
        "error",
        "running",
        "running",
        "queued",
        "queued",
        "queued",
    ]


def test_every_try_has_a_row_with_its_cause_and_why():
    page = page_of(MadeUpStudy(["hang, finished"], study=ENDED))

    assert [row.cells[:3] for row in page.rows] == [
        ("0", "1", "Hung"),
        ("0", "2, resumed", "Finished"),
    ]
    assert page.rows[0].cells[-1].startswith("no step for 61 s")
    assert page.cells[0].has_more
    assert page.cells[0].description == "fold 0: Finished, attempt 2"


def test_a_signal_is_named():
    (tried,) = tries_in(MadeUpStudy(["killed"], study=ENDED))

    assert tried[0].label == "Killed (SIGSEGV)"


def test_a_study_that_told_nothing_yet_is_being_loaded():
    own = own_run(MadeUpStudy(["queued"] * 3))
    tries = attempts_by_fold(own, StudyRecord(), {}, now_wall_s=NOW_WALL_S)

    page = study_state(own, StudyRecord(), tries, now_wall_s=NOW_WALL_S)

    assert page.empty
    assert [cell.icon for cell in page.cells] == ["clock"] * 3
    assert fold_memory_state(tries, None, height_px=100.0).bars == ()


@pytest.mark.parametrize(
    ("state", "ran", "waited"),
    [("lost", "lost", "not_run"), ("interrupted", "interrupted", "not_run")],
)
def test_a_study_that_ended_shows_no_fold_as_running(state: str, ran: str, waited: str):
    study = MadeUpStudy(["finished", "running", "queued"], study={"state": state})

    tries = last_attempts(tries_in(study))

    assert [each.state for each in tries] == ["finished", ran, waited]
    assert page_of(study).forecast == ""
    assert "running" not in study_progress_text(own_run(study))


def test_a_fold_that_was_cut_off_waits_when_the_study_goes_on():
    study = MadeUpStudy(["finished", "running"])
    events = [*study.events(), study.events()[0]]
    own = own_run(study)

    tries = attempts_by_fold(own, record_of(events), {}, now_wall_s=NOW_WALL_S)

    assert [each.state for each in last_attempts(tries)] == ["finished", "queued"]


def test_a_fold_that_will_be_tried_again_says_so():
    study = MadeUpStudy(["hang, queued"])

    assert last_attempts(tries_in(study))[0].state == "again"
    study.study = ENDED
    assert last_attempts(tries_in(study))[0].state == "hang"


def test_rows_that_come_twice_or_late_change_nothing():
    events = MadeUpStudy(RUNNING).events()
    rows = [made_up_row(at, event, STUDY) for at, event in enumerate(events, start=1)]
    book = StudyStore()

    for row, event in [*zip(rows, events, strict=True)][::-1] * 2:
        book.apply_event(row, event)

    assert book.get(STUDY) == record_of(events)


def test_what_is_forgotten_and_what_is_of_no_study_is_not_kept():
    book = StudyStore()
    started = StudyStarted(t_s=0.0, function="f", folds=2)
    book.apply_event(made_up_row(1, started, STUDY), started)

    book.forget([STUDY, "other"])

    assert book.get(STUDY).started is None
    other = Fault(t_s=0.0, where="x", count=1, text="")
    assert not StudyRecord().apply_event(made_up_row(1, other), other)


def test_the_time_of_a_fold_that_runs_goes_on_by_the_clock():
    study = MadeUpStudy(["running"])
    own = own_run(study)
    record = record_of(study.events())

    def seconds(now_wall_s: float) -> float:
        (tried,) = attempts_by_fold(own, record, {}, now_wall_s=now_wall_s)
        return tried[0].seconds or 0.0

    assert seconds(NOW_WALL_S + 30.0) == pytest.approx(seconds(NOW_WALL_S) + 30.0)


def test_a_fold_that_told_nothing_yet_counts_from_its_begin():
    begun = FoldStarted(t_s=10.0, fold=0, attempt=1, started_wall_s=NOW_WALL_S - 7.0)
    own = own_run(MadeUpStudy(["running"]))

    (tried,) = attempts_by_fold(own, record_of([begun]), {}, now_wall_s=NOW_WALL_S)

    assert (tried[0].seconds, tried[0].forecast_s, tried[0].share) == (7.0, None, None)


def test_the_share_of_a_fold_follows_its_own_run_between_two_words_of_the_study():
    study = MadeUpStudy(["running"])
    own, fold = study.runs()
    told = made_up_run(**{**msgspec.structs.asdict(fold), "epoch": 15, "step": 50, "steps": 100})
    search = msgspec.structs.replace(told, fit=3)
    record = record_of(study.events())

    def share(run: RunSummary) -> float | None:
        return attempts_by_fold(own, record, {0: run}, now_wall_s=NOW_WALL_S)[0][0].share

    assert share(told) == pytest.approx(15.5 / 20)
    assert share(search) == 0.3


def test_a_fold_without_share_is_filled_by_its_forecast_as_an_estimate():
    now = FoldProgress(t_s=10.0, fold=0, attempt=1, seconds=30.0, forecast_s=60.0)
    begun = FoldStarted(t_s=1.0, fold=0, attempt=1, started_wall_s=NOW_WALL_S - 30.0)
    study = MadeUpStudy(["running"], study={"started_wall_s": NOW_WALL_S - 10.0})
    record = record_of([study.events()[0], begun, now])
    own = own_run(study)
    tries = attempts_by_fold(own, record, {}, now_wall_s=NOW_WALL_S)

    (cell,) = study_state(own, record, tries, now_wall_s=NOW_WALL_S).cells

    assert (cell.share, cell.is_estimate) == (0.5, True)


def test_of_two_runs_of_a_fold_the_newer_counts():
    own, fold = MadeUpStudy(["finished"]).runs()
    newer = msgspec.structs.replace(fold, run="newer", started_wall_s=fold.started_wall_s + 9.0)

    assert folds_of(own, [newer, fold, made_up_run("other")])[0].run == "newer"
    assert is_study(own)
    assert not is_study(fold)


def _try(state: str, seconds: float = 0.0, forecast_s: float | None = None) -> AttemptState:
    return AttemptState(0, 1, state, "", "", "plain", seconds=seconds, forecast_s=forecast_s)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("folds", "finished_s", "at_once", "likely_s"),
    [
        # Two slots: 100 s and 40 s are left, then two waiting ones of 200 s.
        ([("running", 100, 200), ("running", 160, 200), ("queued",), ("again",)], [200.0], 2, 300),
        ([("queued",)], [50.0, 60.0, 90.0], 1, 60),
        ([("running", 30, 90)], [], 1, 60),
        # One beyond its forecast is about to end.
        ([("running", 120, 90)], [], 1, 0),
        ([("running", 10), ("queued",)], [40.0], 1, 70),
        ([("finished",)], [40.0], 1, 0),
    ],
)
def test_the_end_of_a_study_is_played_through(
    folds: list[tuple[str, float, float]], finished_s: list[float], at_once: int, likely_s: float
):
    found = study_forecast([_try(*each) for each in folds], finished_s, at_once=at_once)

    assert found is not None
    assert found.likely_s == pytest.approx(likely_s)


def test_nothing_is_foretold_where_nothing_tells():
    folds = [_try("running", 10.0), _try("queued")]

    assert study_forecast(folds, [], at_once=1) is None
    assert study_forecast_text(None, now_wall_s=NOW_WALL_S) == "finish time not known yet"


def test_ten_thousand_folds_are_reckoned_and_not_played():
    found = study_forecast([_try("queued")] * 10_000, [2.0], at_once=4)

    assert found is not None
    assert found.likely_s == pytest.approx(5000.0)


def test_an_estimate_tells_its_ends_where_they_are_apart():
    wide = study_forecast_text(StudyForecast(600.0, 720.0, 960.0), now_wall_s=NOW_WALL_S)
    narrow = study_forecast_text(StudyForecast(720.0, 720.0, 720.0), now_wall_s=NOW_WALL_S)

    assert "(10\u202fmin to 16\u202fmin)" in wide
    assert wide.startswith("about 12\u202fmin left")
    assert "(" not in narrow


def test_how_far_a_study_is_says_only_what_there_is():
    def words(ends: list[str]) -> str:
        return study_progress_text(own_run(MadeUpStudy(ends)))

    assert words(["finished", "queued"]) == "1 of 2 folds"
    assert words(RUNNING).split(" \u00b7 ") == [
        *("5 of 10 folds", "2 running", "3 retried", "1 failed", "1 out of memory")
    ]
    untold = msgspec.structs.replace(own_run(MadeUpStudy(["queued"])), tally=None)
    assert study_progress_text(untold) == "1 fold"
    assert words(["finished"]) == "1 of 1 fold"
    assert words(["out_of_memory", "killed"]) == (
        "2 of 2 folds \u00b7 1 out of memory \u00b7 1 killed"
    )
    assert study_progress_text(msgspec.structs.replace(untold, folds=3)) == "3 folds"


def test_facts_tell_the_bounds():
    study = MadeUpStudy(["queued"])
    started = study.events()[0]
    given = replace_event(started, timeout_s=3600.0, memory_bytes=None)
    own = own_run(study)

    def facts(event: AnyEvent) -> str:
        record = record_of([event])
        tries = attempts_by_fold(own, record, {}, now_wall_s=NOW_WALL_S)
        return study_state(own, record, tries, now_wall_s=NOW_WALL_S).facts

    assert (
        "2 in parallel \u00b7 time limit learned from the finished folds \u00b7 memory limit"
        " 4.0\u202fGiB"
    ) in facts(started)
    assert "time limit 1\u202fh \u00b7 memory limited by the host" in facts(given)


def replace_event(event: AnyEvent, **changed: object) -> AnyEvent:
    return msgspec.structs.replace(event, **changed)


def test_memory_stands_side_by_side_with_its_bound():
    study = MadeUpStudy(["finished", "out_of_memory", "queued"], has_vram=True)

    picture = fold_memory_state(tries_in(study), 4 * GIB, height_px=160.0)

    assert [bar.is_over for bar in picture.bars] == [False, True, False]
    assert picture.bound == pytest.approx(4.0 / 4.1 * (picture.bars[1].ram or 0.0))
    assert picture.bars[2].ram is None
    assert picture.has_vram
    assert picture.bars[0].tooltip == "fold 0 \u00b7 RAM 1.9\u202fGiB \u00b7 VRAM 2.4\u202fGiB"
    assert picture.text == "RAM up to 4.1\u202fGiB \u00b7 limit 4.0\u202fGiB"
    assert picture.title == "Peak memory, GiB"


def test_a_bound_far_above_presses_no_bar_to_the_ground():
    picture = fold_memory_state(tries_in(MadeUpStudy(["finished"])), 64 * GIB, height_px=160.0)

    assert picture.bound is None
    assert "limit 64.0\u202fGiB" in picture.text


def test_times_are_bars_of_the_longest_with_forecast_and_limit():
    rows = page_of(MadeUpStudy(["finished", "running"])).rows

    done, ahead = rows[0].bar, rows[1].bar
    assert done is not None
    assert ahead is not None
    assert done.done == pytest.approx(620.0 / 634.0, rel=0.05)
    assert ahead.done < (ahead.forecast or 0.0) <= 1.0
    assert ahead.limit is None


def test_a_limit_that_is_near_is_drawn():
    begun = FoldStarted(t_s=1.0, fold=0, attempt=1, started_wall_s=NOW_WALL_S)
    now = FoldProgress(t_s=3720.0, fold=0, attempt=1, seconds=90.0, forecast_s=100.0, limit_s=80.0)
    own = own_run(MadeUpStudy(["running"]))
    record = record_of([begun, now])
    tries = attempts_by_fold(own, record, {}, now_wall_s=NOW_WALL_S)

    bar = study_state(own, record, tries, now_wall_s=NOW_WALL_S).rows[0].bar

    assert bar is not None
    assert bar.limit == pytest.approx(0.8)


def test_memory_that_fell_has_its_sign():
    ended = FoldEnded(
        t_s=9.0, fold=0, attempt=1, cause="finished", growth_bytes=-GIB, seconds=0.25
    )
    own = own_run(MadeUpStudy(["finished"]))
    record = record_of([ended])
    tries = attempts_by_fold(own, record, {}, now_wall_s=NOW_WALL_S)

    cells = study_state(own, record, tries, now_wall_s=NOW_WALL_S).rows[0].cells

    assert cells[3] == "250\u202fms"
    assert cells[6] == "\u22121.0\u202fGiB"


def test_a_search_whose_end_nobody_knows_shows_the_trials_that_came():
    study = MadeUpStudy(["finished", "running"], study={"folds": 0})

    assert [each.state for each in last_attempts(tries_in(study))] == ["finished", "running"]
    assert study_progress_text(own_run(study)) == "1 trial \u00b7 1 running"
    assert fold_text(last_attempts(tries_in(study))[0]) == "trial 0: Finished"
    started = msgspec.structs.replace(study.events()[0], folds=0)
    page = study_state(own_run(study), record_of([started]), (), now_wall_s=NOW_WALL_S)
    assert "no time limit" in page.facts


def test_trials_without_a_value_are_told_apart():
    tally = StudyTally(
        over=9, finished=5, failed=1, killed=3, out_of_memory=2, pruned=2, too_large=1
    )
    own = msgspec.structs.replace(own_run(MadeUpStudy([])), folds=0, tally=tally)

    assert study_progress_text(own).split(" \u00b7 ") == [
        *("9 trials", "2 pruned", "1 too large", "1 failed", "2 out of memory", "1 killed")
    ]


def test_a_trial_that_was_pruned_says_so_and_is_not_a_bad_end():
    ended = FoldEnded(
        t_s=1.0,
        fold=3,
        attempt=1,
        cause="finished",
        why="at step 2",
        noun="trial",
        outcome="pruned",
    )

    assert describe_fold_end(ended)[1:] == (False, "trial 3: Pruned, at step 2")
