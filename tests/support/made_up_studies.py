"""Studies as a hub would report them: their own run, its events, their folds' runs."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from kmonitor_agent.wire.messages.events import (
    AnyEvent,
    EpochEnded,
    FoldEnded,
    FoldProgress,
    FoldStarted,
    StudyStarted,
    StudyTally,
)
from kmonitor_agent.wire.messages.unions import MetricReading, RunSummary
from tests.support.made_up_runs import GIB, NOW_WALL_S, made_up_run

if TYPE_CHECKING:
    from kmonitor_agent.wire.messages.study_events import FoldCause

STUDY: Final = "study1"
BEGAN_WALL_S: Final = NOW_WALL_S - 3720.0
TOOK_S: Final = 620.0
ENDED: Final[dict[str, tuple[str, str]]] = {
    "error": ("ValueError: no luck with fold 4", ""),
    "out_of_memory": ("its processes used more than memory=4.0 GiB", ""),
    "timeout": ("it took longer than the 2480 s that the finished folds suggest", ""),
    "hang": (
        "no step for 61 s within an epoch; the longest pause before that was 20.3 s",
        "",
    ),
    "killed": ("SIGSEGV: segmentation fault", "SIGSEGV"),
}


@dataclass
class MadeUpStudy:
    """A study with a fold for each end; an end is a cause, "running" or "queued".

    Attributes:
        ends: End of each fold; "hang, finished": it was tried again.
        study: Fields of the hub's summary of its own run, beside the usual.
        has_vram: True if a GPU is used.
        name: Name of the script.
    """

    ends: list[str]
    study: dict[str, Any] = field(default_factory=dict[str, Any])
    has_vram: bool = False
    name: str = "train.py"

    def events(self) -> list[AnyEvent]:
        """The study's events."""
        told: list[AnyEvent] = [
            StudyStarted(
                t_s=0.1,
                function=f"/home/ada/{self.name}:train_fold",
                folds=len(self.ends),
                retries=1,
                at_once=2,
                memory_bytes=int(4 * GIB),
                directory="/home/ada/cv",
            )
        ]
        for fold, ends in enumerate(self.ends):
            tries = ends.split(", ")
            for attempt, end in enumerate(tries, start=1):
                if end != "queued":
                    told += self._tried(fold, attempt, end, again=attempt < len(tries))
        return told

    def runs(self) -> list[RunSummary]:
        """Its own run and those of its folds."""
        lasts = [ends.split(", ")[-1] for ends in self.ends]
        tally = StudyTally(
            over=sum(end not in {"running", "queued"} for end in lasts),
            finished=lasts.count("finished"),
            failed=lasts.count("error"),
            killed=sum(end in {"out_of_memory", "timeout", "hang", "killed"} for end in lasts),
            running=lasts.count("running"),
            out_of_memory=lasts.count("out_of_memory"),
            retried=sum(", " in ends for ends in self.ends),
        )
        own: dict[str, Any] = {
            "name": f"{self.name} \u00b7 cv",
            "study": STUDY,
            "folds": len(self.ends),
            "tally": tally,
            "fit": 0,
            "epoch": None,
            "epochs": 0,
            "epochs_done": 0,
            "step": 0,
            "steps": None,
            "model": "",
            "ram": MetricReading(),
            "vram": MetricReading(),
            "graph": MetricReading(),
            "step_time": MetricReading(),
            "actions": [],
            "started_wall_s": BEGAN_WALL_S,
            "checkpoint_epoch": None,
            "checkpoint_bytes": None,
        }
        folds = [self._run(at, end) for at, end in enumerate(lasts) if end != "queued"]
        return [made_up_run(STUDY, **{**own, **self.study}), *folds]

    def epochs(self, fold: int) -> list[AnyEvent]:
        """The epochs of a fold: a loss that falls."""
        n = 20 if self.ends[fold].endswith("finished") else 9
        return [
            EpochEnded(
                t_s=30.0 * epoch,
                fit=1,
                epoch=epoch,
                seconds=30.0,
                steps=100,
                logs={
                    "loss": 1.6 * math.exp(-epoch / 7.0) + 0.2,
                    "val_loss": 1.5 * math.exp(-epoch / 6.0) + 0.35 + 0.03 * math.sin(fold * 2.1),
                    "val_accuracy": 0.9 - 0.6 * math.exp(-epoch / 5.0) - 0.01 * fold,
                },
            )
            for epoch in range(n)
        ]

    def _tried(self, fold: int, attempt: int, end: str, *, again: bool) -> list[AnyEvent]:
        t_s = 300.0 * fold + 100.0 * attempt
        started_wall_s = BEGAN_WALL_S + t_s
        begun = FoldStarted(
            t_s=t_s,
            fold=fold,
            attempt=attempt,
            started_wall_s=started_wall_s,
            resumed=attempt > 1,
        )
        if end == "running":
            share = 0.3 + 0.2 * (fold % 3)
            elapsed_s = share * TOOK_S
            now = FoldProgress(
                t_s=3720.0,
                fold=fold,
                attempt=attempt,
                seconds=elapsed_s,
                held_bytes=(1.6 + 0.1 * (fold % 4)) * GIB,
                share=share,
                forecast_s=TOOK_S,
                limit_s=4 * TOOK_S,
            )
            running: list[AnyEvent] = [begun, now]
            return running
        why, signal = ENDED.get(end, ("", ""))
        over: list[AnyEvent] = [
            begun,
            FoldEnded(
                t_s=t_s + TOOK_S,
                fold=fold,
                attempt=attempt,
                cause=cast("FoldCause", end),
                again=again,
                why=why,
                signal=signal,
                seconds=TOOK_S + 14.0 * (fold % 5) if end == "finished" else 0.4 * TOOK_S,
                steps=2000 if end == "finished" else 830,
                peak_bytes=(4.1 if end == "out_of_memory" else 1.9 + 0.12 * (fold % 5)) * GIB,
                growth_bytes=0.31 * GIB,
                vram_bytes=(2.4 + 0.2 * (fold % 3)) * GIB if self.has_vram else None,
                resumed=attempt > 1,
                started_wall_s=started_wall_s,
            ),
        ]
        return over

    def _run(self, fold: int, end: str) -> RunSummary:
        state = {"running": "training", "finished": "finished"}.get(end, "failed")
        vram = (
            MetricReading(value=2.4 * GIB, of=80 * GIB)
            if self.has_vram
            else MetricReading(absent="no")
        )
        return made_up_run(
            f"fold{fold}",
            name=f"{self.name} \u00b7 fold {fold}",
            study=STUDY,
            fold=fold,
            folds=len(self.ends),
            attempt=1,
            state=state,
            cause="" if state != "failed" else end.replace("_", " "),
            started_wall_s=BEGAN_WALL_S + 300.0 * fold,
            epochs=20,
            epoch=8 if end == "running" else 19,
            epochs_done=9,
            ram=MetricReading(value=1.9 * GIB, of=16 * GIB),
            vram=vram,
            actions=[],
        )


RUNNING: Final = [
    "finished",
    "finished",
    "hang, finished",
    "out_of_memory, out_of_memory",
    "error",
    "running",
    "killed, running",
    "queued",
    "queued",
    "queued",
]
"""A study in its middle, in which everything happened."""
