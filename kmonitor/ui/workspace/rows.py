"""What rows of runs tell, each in its book: log, reclaims, diagnoses, readings, alerts."""

from collections.abc import Collection

from kmonitor.ui.alerts.alert_evaluator import AlertDesk
from kmonitor.ui.events.diagnosis import DiagnosisBook
from kmonitor.ui.events.event_log import EventLog
from kmonitor.ui.events.reclaims import ReclaimBook
from kmonitor.ui.runs.readings import RunReadings
from kmonitor.ui.studies.study_store import StudyBook
from kmonitor_agent.wire.messages.events import (
    ActionRecord,
    AnyEvent,
    Diagnosis,
    Sample,
    Sources,
    Verdict,
)
from kmonitor_agent.wire.messages.unions import Row


class RowBooks:
    """Takes rows; main thread only.

    Attributes:
        log: Event log. reclaims: What was reclaimed. diagnoses: What was found.
        alerts: What the user is to be told. studies: What studies told of their folds.
    """

    def __init__(self) -> None:
        self.log = EventLog()
        self.reclaims = ReclaimBook()
        self.diagnoses = DiagnosisBook()
        self.alerts = AlertDesk()
        self.studies = StudyBook()
        self._readings: dict[str, RunReadings] = {}

    def readings(self, run: str) -> RunReadings:
        """The readings of one run."""
        return self._readings.setdefault(run, RunReadings())

    def forget(self, runs: Collection[str]) -> None:
        """Nothing is known of these runs."""
        self.log.forget(runs)
        self.reclaims.forget(runs)
        self.diagnoses.forget(runs)
        self.studies.forget(runs)
        for run in runs:
            self._readings.pop(run, None)

    def read(self, row: Row, event: AnyEvent) -> bool:
        """Whether a row is about readings, which are taken then."""
        match event:
            case Sample():
                self.readings(row.run).take_sample(event, row.t_s)
            case Sources():
                self.readings(row.run).take_sources(event)
            case _:
                return False
        return True

    def note(
        self,
        row: Row,
        event: AnyEvent,
        *,
        name: str,
        host: str,
        wall_s: float,
        now_wall_s: float,
    ) -> bool:
        """Note what happened; whether the log has a line more.

        Args:
            row: Of the hub.
            event: What it says.
            name: Of its run.
            host: Of its run; empty: not known.
            wall_s: When it happened, UTC.
            now_wall_s: Now, UTC.
        """
        if isinstance(event, ActionRecord):
            self.reclaims.add(row.run, row.row, event, wall_s=wall_s)
        elif isinstance(event, Diagnosis):
            self.diagnoses.add(row.run, row.row, event, wall_s=wall_s)
        self.studies.take(row, event)
        is_new = self.log.add(row.row, event, run=row.run, name=name, wall_s=wall_s)
        if is_new or isinstance(event, Verdict):
            self.alerts.happened(row.run, name, host, event, wall_s=wall_s, now_wall_s=now_wall_s)
        return is_new
