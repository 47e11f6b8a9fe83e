"""Recorders of callbacks' runs in this process, and what they emit."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kmonitor_agent.recording.process_session import ProcessSession
from kmonitor_agent.recording.run_recorder import RunRecorder
from kmonitor_agent.recording.runs import RUNS
from kmonitor_agent.wire.messages.events import Event

if TYPE_CHECKING:
    import pytest


def recorder_of(callback: Any) -> RunRecorder:
    """Recorder of a callback's run, which is not closed yet."""
    (recorder,) = [each for each in RUNS.recorders() if each.run_id == callback.run_id]
    return recorder


def faults_of(callback: Any) -> dict[str, int]:
    """Our own faults in a callback's run, which is not closed yet."""
    return recorder_of(callback).faults.counts()


def hear(monkeypatch: "pytest.MonkeyPatch", note: Callable[[Event], object]) -> None:
    """Call a function after each event that a run emits; for callbacks created from now on."""
    emit = ProcessSession.emit

    def heard(session: ProcessSession, event: Event) -> None:
        emit(session, event)
        note(event)

    monkeypatch.setattr(ProcessSession, "emit", heard)
