"""`Trials`: folds that come one by one, each of which requests its task."""

import functools
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kmonitor.integrations.scikit_learn import train_and_score
from kmonitor_agent.recording.process_facts import default_run_name, script_path
from kmonitor_agent.studies.attempts import Attempt, StudyListenerGroup
from kmonitor_agent.studies.bounds import StepGaps, TimeBound
from kmonitor_agent.studies.carried_function import FoldsRefused, Usage, carry
from kmonitor_agent.studies.launch import StudyOptions
from kmonitor_agent.studies.runner import FoldQueue
from kmonitor_agent.studies.searches import TrialRunner
from kmonitor_agent.studies.study_folder import StudyFacts, StudyFolder
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.events import (
    FoldEnded,
    SessionEnded,
    SessionStarted,
    StudyStarted,
    StudyTally,
)
from tests.support import asking
from tests.support import fold_functions as functions
from tests.support.spooled import spooled_events
from tests.support.waiting import DEADLINE_S

pytestmark = pytest.mark.slow


def test_a_trial_is_answered_by_whoever_runs_it(tmp_path: Path):
    trials = TrialRunner(asking.asked, study=tmp_path / "search")
    threads: list[int] = []

    def answers(question: object) -> dict[str, object]:
        threads.append(threading.get_ident())
        return {"q": question, "i": 7, "big": b"x" * 300_000}

    result = trials.run(3, answers)
    trials.close()

    assert result.value == ["what", 7, 300_000, 400_000]
    assert set(threads) == {threading.get_ident()}
    assert trials.attempts[0].fold == 3


def test_what_answering_raises_is_raised_in_the_trial(tmp_path: Path):
    trials = TrialRunner(asking.refused, study=tmp_path / "search")

    def answers(question: object) -> object:
        raise ValueError(f"no {question}")

    result = trials.run(0, answers)
    trials.close()

    assert result.value == ["ValueError", "no what"]


def test_trials_of_several_threads_run_at_the_same_time(tmp_path: Path):
    trials = TrialRunner(asking.met, study=tmp_path / "search")
    together = threading.Barrier(2)
    values: dict[int, object] = {}

    def run(index: int) -> None:
        # Each is answered only when the other has sent a request too.
        values[index] = trials.run(index, lambda _: together.wait(DEADLINE_S) * 0 + index).value

    threads = [threading.Thread(target=run, args=(each,)) for each in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    trials.close()

    assert values == {0: 0, 1: 1}
    assert len(trials.attempts) == 2


def test_the_next_trials_process_waits_warm_and_goes_with_the_search(tmp_path: Path):
    trials = TrialRunner(asking.met, study=tmp_path / "search")

    first = trials.run(0, lambda _: 0, ahead=1)
    second = trials.run(1, lambda _: 1, ahead=2)
    trials.close()

    assert (first.value, second.value) == (0, 1)


def test_a_search_goes_on_in_its_folder(tmp_path: Path):
    before = TrialRunner(functions.told, study=tmp_path / "search")
    told = before.run(0, lambda _: None).value
    before.close()

    after = TrialRunner(functions.nothing, study=tmp_path / "search")
    kept = after.finished(0)
    never_run = after.finished(1)
    after.close()

    assert kept is not None
    assert kept.value == told
    assert never_run is None


def test_a_function_that_cannot_be_carried_is_refused_and_leaves_no_folder(tmp_path: Path):
    lock = threading.Lock()

    with pytest.raises(FoldsRefused, match="uses lock, a lock"):
        TrialRunner(lambda fold: lock, study=tmp_path / "search")

    assert not (tmp_path / "search").exists()


def test_the_hub_is_told_of_a_search_as_of_a_study(tmp_path: Path, folders: Folders):
    trials = TrialRunner(asking.met, study=tmp_path / "search")
    for index in range(2):
        trials.run(index, lambda _: 0)
    trials.close()

    facts = msgspec.json.decode((tmp_path / "search" / "study.json").read_bytes(), type=StudyFacts)
    events = spooled_events(folders, facts.id)
    started = events[0]
    assert isinstance(started, SessionStarted)
    assert started.name == f"{default_run_name()} · trials"
    # They come one by one: no one knows how many.
    assert [each.folds for each in events if isinstance(each, StudyStarted)] == [0]
    assert [each.fold for each in events if isinstance(each, FoldEnded)] == [0, 1]
    assert isinstance(events[-1], SessionEnded)


def test_a_trial_that_came_to_no_value_is_told_as_such(
    tmp_path: Path, folders: Folders, capsys: pytest.CaptureFixture[str]
):
    trials = TrialRunner(asking.came_to, study=tmp_path / "search", called="search.py: objective")
    outcomes = [("pruned", "at step 3"), ("too_large", "it takes 9 GiB"), ("failed", "no luck")]
    for index, outcome in enumerate(outcomes):
        assert trials.run(index, lambda _, told=outcome: told).ok
    trials.close()

    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" (")[0] for line in lines] == [
        "kmonitor: trial 0 pruned",
        "kmonitor: trial 1 too large",
        "kmonitor: trial 2 failed",
    ]
    assert lines[1].endswith(": it takes 9 GiB")
    table = str(trials.attempts).splitlines()
    assert table[0].startswith("trial  attempt")
    assert table[-1] == "trial 2: no luck"
    facts = msgspec.json.decode((tmp_path / "search" / "study.json").read_bytes(), type=StudyFacts)
    events = spooled_events(folders, facts.id)
    ended = [each for each in events if isinstance(each, FoldEnded)]
    assert [each.outcome for each in ended] == ["pruned", "too_large", "failed"]
    assert {each.noun for each in ended} == {"trial"}
    assert ended[-1].tally == StudyTally(over=3, finished=2, failed=1, pruned=1, too_large=1)
    started = next(each for each in events if isinstance(each, StudyStarted))
    assert started.function == "search.py: objective"


def test_how_long_a_trial_took_says_nothing_of_the_next(tmp_path: Path):
    folder = StudyFolder(tmp_path / "study")
    account = FoldQueue(1, folder, StudyListenerGroup(), learns=False)
    ended = Attempt(0, 1, "finished", "", started_wall_s=0.0, seconds=0.1)

    account.learn(ended, StepGaps({"begin": 0.1}))

    assert account.learned_times.finished_s == []
    assert account.learned_times.step_gaps.longest_s == {}
    folder.close()


def test_what_an_integration_was_given_is_what_is_told_of():
    time = TimeBound(None)
    build: Any = functions.told
    ours = functools.partial(train_and_score, build=build)

    bare = StudyOptions(carry(functions.told), 1, 1, time, None, ())
    handed = StudyOptions(carry(ours, Usage(noun="trial")), 1, 1, time, None, ())

    assert (bare.function, bare.script) == (f"{functions.__name__}: told", functions.__name__)
    assert (handed.function, handed.script) == (bare.function, script_path())
    assert replace(handed, called="Mine").function == "Mine"
