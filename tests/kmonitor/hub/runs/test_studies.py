"""The hub's knowledge of a study and of its folds."""

import msgspec

from kmonitor.hub.runs.apply_events import apply_event
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor_agent.wire.messages.events import (
    FitStarted,
    FoldEnded,
    FoldProgress,
    FoldStarted,
    SessionEnded,
    SessionStarted,
    StudyStarted,
    StudyTally,
)

BOOT = SessionStarted(
    t_s=0.0, session="b", name="train.py", host="h", pid=5, started_wall_s=1.0, study="s1", folds=5
)


def test_a_study_tells_how_far_its_folds_are():
    record = RunRecord(key=1, run="s1")
    apply_event(record, BOOT)
    apply_event(record, StudyStarted(t_s=0.1, function="train.py:train", folds=5))
    apply_event(record, FoldStarted(t_s=1.0, fold=0, attempt=1, started_wall_s=2.0))
    apply_event(record, FoldProgress(t_s=2.0, fold=0, attempt=1, seconds=1.0))
    tally = StudyTally(over=1, finished=1)

    apply_event(record, FoldEnded(t_s=9.0, fold=0, attempt=1, cause="finished", tally=tally))

    told = record.summary()
    assert (told.study, told.fold, told.folds, told.tally) == ("s1", None, 5, tally)
    assert told.state == "training"
    apply_event(record, SessionEnded(t_s=10.0, why="finished"))
    assert record.summary().state == "finished"


def test_a_fold_names_its_place_also_after_the_hub_was_started_anew():
    record = RunRecord(key=1, run="r")
    apply_event(record, msgspec.structs.replace(BOOT, fold=2, attempt=2))
    apply_event(record, FitStarted(t_s=1.0, fit=1, model="net"))

    kept = msgspec.msgpack.decode(msgspec.msgpack.encode(record), type=RunRecord)

    told = kept.summary()
    assert (told.study, told.fold, told.folds, told.attempt) == ("s1", 2, 5, 2)
    assert told.tally is None
