"""Reports of studies: each fold, their results, their memory side by side, the attempts."""

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from kmonitor.ui.report.page import write_report
from kmonitor_agent.wire.messages.events import AnyEvent, Verdict
from kmonitor_agent.wire.messages.unions import (
    EventRow,
    HubReply,
    RowsReply,
    RunSummary,
    SeriesReply,
)
from tests.support.drawings import MAY_STAND_IN_IT, Page
from tests.support.made_up_runs import HUB, made_up_row, told_hub
from tests.support.made_up_studies import RUNNING, STUDY, MadeUpStudy

if TYPE_CHECKING:
    from kmonitor.connect.hub_client import HubClient

HOSTILE = "<script>alert(1)</script>"


class StudyHub:
    """Answers a report's requests, from a study's events."""

    def __init__(self, study: MadeUpStudy, *, with_epochs: bool = True) -> None:
        self._runs = study.runs()
        events: list[tuple[AnyEvent, str]] = [(event, STUDY) for event in study.events()]
        for fold, ends in enumerate(study.ends if with_epochs else ()):
            if ends != "queued":
                events += [(event, f"fold{fold}") for event in study.epochs(fold)]
        self._rows = [made_up_row(at, *told) for at, told in enumerate(events, start=1)]

    def hub(self) -> HubReply:
        return told_hub()

    def runs(self) -> list[RunSummary]:
        return self._runs

    def rows(self, *, cursor: int, runs: list[str], kinds: list[str]) -> RowsReply:
        del cursor, kinds
        return RowsReply(
            request_id=0, hub=HUB, cursor=0, rows=self.all_rows(*runs), more=False, head=0
        )

    def all_rows(self, *asked: object) -> list[EventRow]:
        """Rows of the requested runs; kinds among them change nothing."""
        return [row for row in self._rows if row.run in asked]

    def series(self, run: str, columns: list[str], *, from_s: float, buckets: int) -> SeriesReply:
        del columns, from_s, buckets
        return SeriesReply(request_id=0, run=run, row=0, columns=[])

    def verdicts(self, run: str) -> list[Verdict]:
        del run
        return []


def report_of(study: MadeUpStudy, folder: Path, *, with_epochs: bool = True) -> str:
    hub = StudyHub(study, with_epochs=with_epochs)
    write_report(cast("HubClient", hub), hub.runs()[0], folder / "r.html")
    return (folder / "r.html").read_text(encoding="utf-8").replace("\u202f", " ")


def test_a_study_is_told_by_its_folds_their_metric_memory_and_attempts(tmp_path: Path):
    text = report_of(MadeUpStudy(RUNNING, has_vram=True), tmp_path)
    page = Page.of(text)

    for words in (
        "5 of 10 folds \u00b7 2 running \u00b7 3 retried \u00b7 1 failed",
        "memory limit 4.0 GiB",
        "\u25b2 Out of memory",
        "2 attempts \u00b7",
        "RAM 1.9 GiB \u00b7 VRAM 2.4 GiB",
        "ValueError: no luck with fold 4",
        "mean \u00b1 standard deviation of val_loss over the 3 finished folds",
        "mean \u00b1 standard deviation of val_accuracy",
        "RAM up to 4.1 GiB \u00b7 limit 4.0 GiB",
        "fold 3 \u00b7 RAM 4.1 GiB",
    ):
        assert words in page.text, words
    assert [name for name, _ in page.elements].count("svg") == 2
    attempts = text[text.index(">Attempts<") : text.index(">Events<")]
    assert attempts.count("<tr>") == 1 + 13
    assert ">RAM peak<" in attempts
    assert page.names <= MAY_STAND_IN_IT


@pytest.mark.parametrize(
    "words",
    [
        "Verdicts",
        "Reclaims",
        "Waiting for the first reading",
        "No model was told",
        "Last readings",
    ],
)
def test_what_only_a_training_has_is_left_out(tmp_path: Path, words: str):
    assert words not in report_of(MadeUpStudy(RUNNING), tmp_path)


def test_charts_without_anything_in_them_are_left_out(tmp_path: Path):
    text = report_of(MadeUpStudy(["queued", "queued"]), tmp_path, with_epochs=False)

    assert "<svg" not in text
    assert "<h2>Charts</h2>" not in text
    assert "0 of 2 folds" in text
    assert text.count("Waiting") == 2 * 2


def test_a_searchs_folds_are_trials(tmp_path: Path):
    study = MadeUpStudy(["finished", "out_of_memory"], study={"folds": 0})
    text = report_of(study, tmp_path)

    for words in ("<h2>Trials</h2>", ">Trial</th>", "trial 1 \u00b7 RAM 4.1 GiB", "<h3>trial 0<"):
        assert words in text, words
    assert "val_loss of 1 trial at its last epoch" in text


def test_names_of_a_study_are_never_markup(tmp_path: Path):
    study = MadeUpStudy(["error", "finished"], name=HOSTILE)
    page = Page.of(report_of(study, tmp_path))

    assert page.names <= MAY_STAND_IN_IT
    assert HOSTILE in page.text
