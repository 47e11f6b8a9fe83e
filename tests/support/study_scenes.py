"""Scenes of a study's page."""

from typing import Final

from PySide6.QtWidgets import QWidget

from tests.support.made_up_studies import RUNNING, STUDY, MadeUpStudy
from tests.support.stage import LONG, Stage


def told(stage: Stage, study: MadeUpStudy, *, with_epochs: bool = True) -> QWidget:
    """A window that shows this study, as far as it has reported."""
    stage.desk.connect()
    stage.desk.tell_runs(*study.runs())
    stage.desk.desk.select(STUDY)
    stage.desk.controller.refresh()
    stage.desk.tell_events(*study.events(), run=STUDY)
    if with_epochs:
        for fold, ends in enumerate(study.ends):
            if ends != "queued":
                stage.desk.tell_events(*study.epochs(fold), run=f"fold{fold}")
    stage.desk.settle()
    stage.desk.controller.study.refresh_texts()
    stage.desk.settle()
    return stage.window


def study_running(stage: Stage) -> QWidget:
    """In its middle: folds of every kind."""
    return told(stage, MadeUpStudy(RUNNING))


def study_begun(stage: Stage) -> QWidget:
    """Its first fold has just begun, and nothing is known."""
    return told(stage, MadeUpStudy(["running", *["queued"] * 4]), with_epochs=False)


def study_of_fifty(stage: Stage) -> QWidget:
    """Many folds, on GPUs, that finished."""
    ends = ["hang, finished" if at % 17 == 3 else "finished" for at in range(50)]
    ended = {"state": "finished"}
    return told(stage, MadeUpStudy(ends, study=ended, has_vram=True))


def study_lost(stage: Stage) -> QWidget:
    """Its process was killed; a long name."""
    ends = ["finished", "finished", "running", "queued", "queued"]
    lost = {"state": "lost", "state_why": "its process ended unexpectedly"}
    return told(stage, MadeUpStudy(ends, study=lost, name=LONG))


def study_all_killed(stage: Stage) -> QWidget:
    """No fold came back."""
    ends = ["out_of_memory, out_of_memory"] * 4
    return told(stage, MadeUpStudy(ends, study={"state": "finished"}))


STUDY_SCENES: Final = (study_running, study_begun, study_of_fifty, study_lost, study_all_killed)
