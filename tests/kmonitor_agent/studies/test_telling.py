"""A study reports its progress to the hub, in its own run, and never fails by that."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest

from kmonitor_agent import run_folds
from kmonitor_agent.studies.attempts import Attempt
from kmonitor_agent.studies.bounds import TimeBound
from kmonitor_agent.studies.carried_function import carry
from kmonitor_agent.studies.launch import StudyOptions
from kmonitor_agent.studies.study_folder import StudyFacts, StudyFolder
from kmonitor_agent.studies.study_reporter import FoldCounter, StudyReporter
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.events import (
    AnyEvent,
    FoldEnded,
    FoldProgress,
    FoldStarted,
    SessionEnded,
    SessionStarted,
    StudyStarted,
    StudyTally,
)
from tests.support import fold_functions as functions
from tests.support.spooled import spooled_events

T = TypeVar("T")

FACTS = StudyFacts(id="a1", function="f", folds=3)


def _told(folders: Folders, study: Path) -> list[AnyEvent]:
    facts = msgspec.json.decode((study / "study.json").read_bytes(), type=StudyFacts)
    return spooled_events(folders, facts.id)


def _of(events: list[AnyEvent], kind: type[T]) -> list[T]:
    return [each for each in events if isinstance(each, kind)]


@pytest.mark.slow
def test_a_study_tells_each_fold_and_how_it_ended(tmp_path: Path, folders: Folders):
    study = run_folds(functions.by_index, folds=3, study=tmp_path / "cv", at_once=2, retries=1)

    events = _told(folders, study.directory)
    started, facts, last = events[0], events[1], events[-1]
    assert isinstance(started, SessionStarted)
    assert (started.name, started.folds) == ("tests.support.fold_functions · cv", 3)
    assert started.fold is None
    assert isinstance(facts, StudyStarted)
    assert (facts.folds, facts.at_once, facts.retries) == (3, 2, 1)
    assert isinstance(last, SessionEnded)
    assert last.why == "finished"
    tries = sorted((each.fold, each.attempt) for each in _of(events, FoldStarted))
    assert tries == [(0, 1), (1, 1), (2, 1), (2, 2)]
    ends = {(each.fold, each.attempt): each for each in _of(events, FoldEnded)}
    assert [(each.cause, each.again) for _, each in sorted(ends.items())] == [
        ("finished", False),
        ("error", False),
        ("killed", True),
        ("killed", False),
    ]
    assert "no luck with fold 1" in ends[1, 1].why
    assert ends[2, 2].signal == "SIGSEGV"
    assert _of(events, FoldProgress)
    assert _of(events, FoldEnded)[-1].tally == StudyTally(
        over=3, finished=1, failed=1, killed=1, retried=1
    )


@pytest.mark.slow
def test_a_study_that_goes_on_is_the_same_run_and_tells_what_was_before(
    tmp_path: Path, folders: Folders
):
    run_folds(functions.by_index, folds=2, study=tmp_path / "cv")

    study = run_folds(functions.by_index, folds=2, study=tmp_path / "cv")

    events = _told(folders, study.directory)
    assert len(_of(events, SessionStarted)) == 2
    facts = _of(events, StudyStarted)[1]
    assert facts.tally == StudyTally(over=1, finished=1)
    after = events[events.index(facts) :]
    assert [(each.fold, each.cause, each.again) for each in _of(after, FoldEnded)] == [
        (0, "finished", False),
        (1, "error", True),
        (1, "error", False),
    ]


@pytest.mark.slow
def test_nothing_that_goes_wrong_in_telling_reaches_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("KMONITOR_HUB", "no://such")

    assert run_folds(functions.told, folds=1, study=tmp_path / "cv").ok


class Attempted:
    """An attempt that runs."""

    def __init__(self, fold: int = 0, attempt: int = 1, *, is_ready: bool = True) -> None:
        self.fold = fold
        self.attempt = attempt
        self.is_ready = is_ready
        self.device = "3"
        self.resumed = attempt > 1
        self.share = 0.25
        self.held_bytes = 5

    def elapsed_s(self, now_s: float) -> float:
        return 10.0

    def limit_s(self, now_s: float) -> float | None:
        return 60.0


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[StudyFolder]:
    made = StudyFolder(tmp_path / "cv")
    made.begin(FACTS)
    yield made
    made.close()


@pytest.fixture
def telling(folder: StudyFolder, folders: Folders) -> StudyReporter:
    wanted = StudyOptions(carry(functions.told), 1, 2, TimeBound(), None, ())
    return StudyReporter(wanted, FACTS, folder, folders)


def test_nothing_is_told_before_a_fold_can_run(telling: StudyReporter, folders: Folders):
    telling.progressed(0, [Attempted(is_ready=False)], [])
    telling.close(None)

    assert not folders.spool.exists()


def test_a_fold_that_runs_is_told_with_its_forecast_and_not_at_every_look(
    telling: StudyReporter, folders: Folders
):
    for _ in range(3):
        telling.progressed(0, [Attempted()], [])
    telling.progressed(0, [Attempted(), Attempted(1)], [])
    telling.close(None)

    events = spooled_events(folders, "a1")
    assert [each.fold for each in _of(events, FoldStarted)] == [0, 1]
    now, _ = _of(events, FoldProgress)
    assert (now.seconds, now.share, now.forecast_s, now.limit_s) == (10.0, 0.25, 40.0, 60.0)
    assert _of(events, FoldStarted)[1].tally == StudyTally(running=2)


def test_a_try_that_died_before_it_was_looked_at_is_told_to_have_begun(
    telling: StudyReporter, folders: Folders
):
    telling.ended(msgspec.structs.replace(_ended(1, "killed", 2), started_wall_s=5.0), again=False)
    telling.close(None)

    events = spooled_events(folders, "a1")
    (began,) = _of(events, FoldStarted)
    assert (began.fold, began.attempt, began.started_wall_s) == (1, 2, 5.0)
    (ended,) = _of(events, FoldEnded)
    assert ended.tally == StudyTally(over=1, killed=1, retried=1)


def test_what_the_end_of_the_study_cut_off_is_told(
    telling: StudyReporter, folder: StudyFolder, folders: Folders
):
    folder.note(Attempt(0, 1, "interrupted", started_wall_s=5.0))
    telling.progressed(0, [Attempted()], [])
    folder.note(Attempt(0, 1, "interrupted", started_wall_s=9.0))
    telling.close(KeyboardInterrupt)

    events = spooled_events(folders, "a1")
    ends = [(each.cause, each.again, each.started_wall_s) for each in _of(events, FoldEnded)]
    assert ends == [("interrupted", True, 5.0), ("interrupted", True, 9.0)]
    last = events[-1]
    assert isinstance(last, SessionEnded)
    assert last.why == "interrupted"


@pytest.mark.parametrize(
    ("private", "cause", "why"),
    [
        (True, "error", ""),
        (True, "out_of_memory", ""),
        (True, "hang", "secret"),
        (False, "error", "secret"),
    ],
)
def test_texts_of_exceptions_of_private_folds_stay_here(
    telling: StudyReporter, folders: Folders, *, private: bool, cause: str, why: str
):
    telling.ended(
        msgspec.structs.replace(_ended(0, cause), why="secret", private=private), again=False
    )
    telling.close(None)

    (ended,) = _of(spooled_events(folders, "a1"), FoldEnded)
    assert ended.why == why


def test_a_study_that_fails_says_by_what(telling: StudyReporter, folders: Folders):
    telling.progressed(0, [Attempted()], [])
    telling.close(OSError)

    last = spooled_events(folders, "a1")[-1]
    assert isinstance(last, SessionEnded)
    assert (last.why, last.error_type) == ("failed", "OSError")


def _ended(fold: int, cause: str, attempt: int = 1) -> Attempt:
    return Attempt(fold, attempt, cause)  # pyright: ignore[reportArgumentType]


def test_folds_are_counted_once_however_often_they_are_tried():
    tallies = FoldCounter()
    tallies.add_earlier([_ended(0, "finished"), _ended(1, "hang"), _ended(1, "hang", 2)], {0})
    tallies.attempt_started(1, 3)
    tallies.attempt_started(2, 1)
    tallies.ended(_ended(2, "timeout"), again=True)
    tallies.attempt_started(2, 2)

    assert tallies.tally() == StudyTally(over=1, finished=1, running=2, retried=2)

    tallies.ended(_ended(1, "out_of_memory", 3), again=False)
    tallies.ended(_ended(2, "interrupted", 2), again=False)
    assert tallies.tally() == StudyTally(over=2, finished=1, killed=1, retried=2, out_of_memory=1)
