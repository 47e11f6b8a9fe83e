"""What a report says of a study: the same pictures as its page in the window."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kmonitor.connect.hub_client import HubClient
from kmonitor.ui.report.told_desk import ToldDesk
from kmonitor.ui.runs.run_states import has_ended
from kmonitor.ui.studies.fold_charts import MetricPicture
from kmonitor.ui.studies.folds import tries_of
from kmonitor.ui.studies.study_memory import MemoryPicture, memory_picture
from kmonitor.ui.studies.study_page import StudyPicture, study_picture
from kmonitor.ui.studies.study_store import folds_of, is_search
from kmonitor_agent.wire.local.fold_identity import Noun
from kmonitor_agent.wire.messages.unions import RunSummary

PLOT_WIDTH_PX: Final = 530
PLOT_HEIGHT_PX: Final = 200
"""Room for the bars and lines of a study's charts."""

_MOST_METRICS: Final = 24


@dataclass(frozen=True, slots=True)
class StudyContents:
    """A study as it stood when the report was made.

    Attributes:
        page: How far it is, each fold, and the ledger.
        memory: Of each fold.
        metrics: Of the folds' epochs, the usual one first; empty: no fold told of an epoch.
        is_search: Its folds are the trials of a search.
    """

    page: StudyPicture
    memory: MemoryPicture
    metrics: Sequence[MetricPicture]
    is_search: bool


def study_contents(client: HubClient, told: ToldDesk, study: RunSummary) -> StudyContents:
    """Ask for what is known of a study and of its folds.

    Args:
        client: Of the study's hub.
        told: What was told of the study's own run.
        study: That run.

    Raises:
        Expected: The hub does not answer.
    """
    folds = folds_of(study, client.runs())
    record = told.desk.studies.get(study.run)
    now_wall_s = study.last_wall_s if has_ended(study) else told.desk.now_wall_s()
    tries = tries_of(study, record, folds, now_wall_s=now_wall_s)
    bound = None if record.started is None else record.started.memory_bytes
    finished = {each[-1].fold for each in tries if each[-1].state == "finished"}
    runs = {fold: folds[fold].run for fold in sorted(folds)}
    told.take_epochs(list(runs.values()))
    return StudyContents(
        page=study_picture(study, record, tries, now_wall_s=now_wall_s),
        memory=memory_picture(tries, bound, height_px=float(PLOT_HEIGHT_PX)),
        metrics=_metrics(told, runs, finished, "trial" if is_search(study) else "fold"),
        is_search=is_search(study),
    )


def _metrics(
    told: ToldDesk, runs: Mapping[int, str], finished: Collection[int], noun: Noun
) -> list[MetricPicture]:
    metrics = told.desk.fold_metrics

    def picture(name: str) -> MetricPicture:
        metrics.metric = name
        size_px = (PLOT_WIDTH_PX, PLOT_HEIGHT_PX)
        return metrics.picture(runs, finished, noun=noun, size_px=size_px)

    choices = picture("").choices[:_MOST_METRICS]
    return [drawn for name in choices if (drawn := picture(name)).mean]
