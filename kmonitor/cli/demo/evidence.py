"""Evidence of a demo: required and missing observations."""

from collections.abc import Sequence
from dataclasses import dataclass

from kmonitor.demo.reports import FoldDone
from kmonitor_agent.wire.messages.events import (
    ActionRecord,
    AnyEvent,
    EpochEnded,
    GraphSize,
    LimitCrossed,
    Verdict,
)

LEAST_GROWTH_PART = 0.5
"""Fraction of the first model's operations that a leaking model leaves behind at least."""


@dataclass(frozen=True, slots=True)
class DemoEvidence:
    """Evidence in the monitored training's events.

    Attributes:
        crossings: Crossings of the limit on the graph size.
        reloads: Successful reloads that freed memory.
        failed: All other reloads.
        peak_operations: Largest counted graph size; 0 if none was counted.
        epochs_after: Number of epochs that ended after the first reload.
        graph_verdict: The newest verdict on the graph size; None without one.
    """

    crossings: tuple[LimitCrossed, ...]
    reloads: tuple[ActionRecord, ...]
    failed: tuple[ActionRecord, ...]
    peak_operations: int
    epochs_after: int
    graph_verdict: Verdict | None = None


def evidence_in_events(
    events: Sequence[AnyEvent], verdicts: Sequence[Verdict] = ()
) -> DemoEvidence:
    """Collect the evidence from a run's events, given in order.

    Args:
        verdicts: The newest verdict on each metric.
    """
    records = [e for e in events if isinstance(e, ActionRecord) and e.action == "reload"]
    good = tuple(record for record in records if _released_memory(record))
    sizes = [e.operations for e in events if isinstance(e, GraphSize)]
    first_s = good[0].t_s if good else float("inf")
    return DemoEvidence(
        crossings=tuple(
            e for e in events if isinstance(e, LimitCrossed) and e.metric == "graph" and e.crossed
        ),
        reloads=good,
        failed=tuple(record for record in records if record not in good),
        peak_operations=max(sizes, default=0),
        epochs_after=sum(isinstance(e, EpochEnded) and e.t_s > first_s for e in events),
        graph_verdict=next((each for each in verdicts if each.metric == "graph"), None),
    )


def missing(
    evidence: DemoEvidence, monitored: Sequence[FoldDone], plain: Sequence[FoldDone] | None
) -> list[str]:
    """Return the missing evidence as sentences; empty when nothing is missing.

    Args:
        monitored: Models of the monitored run.
        plain: Models of the training without kmonitor; None when it was not run.
    """
    lacking: list[str] = []
    if not _grows(monitored[:2] if plain is None else plain):
        lacking.append(
            "growth: the graph did not grow from model to model with this version of TensorFlow"
        )
    if not evidence.crossings:
        lacking.append("crossing: the graph size never exceeded its limit")
    if evidence.failed:
        lacking.append(
            f"record: a reload failed: {evidence.failed[0].why or 'no memory was freed'}"
        )
    if not evidence.reloads:
        lacking.append("record: no reload was recorded")
    elif not evidence.epochs_after:
        lacking.append("record: no epoch ended after the reload")
    if plain is not None:
        lacking += _differences(monitored, plain)
    return lacking


def growth_per_model(folds: Sequence[FoldDone]) -> float:
    """Average number of operations added by each further model."""
    return (folds[-1].operations - folds[0].operations) / max(1, len(folds) - 1)


def _released_memory(record: ActionRecord) -> bool:
    if not record.ok or record.after is None:
        return False
    before = record.before.graph_operations
    after = record.after.graph_operations
    return before is not None and after is not None and after < before


def _grows(folds: Sequence[FoldDone]) -> bool:
    if len(folds) < 2:  # noqa: PLR2004 - growth needs two
        return False
    return growth_per_model(folds) >= LEAST_GROWTH_PART * folds[0].operations > 0


def _differences(monitored: Sequence[FoldDone], plain: Sequence[FoldDone]) -> list[str]:
    if len(monitored) != len(plain):
        return [f"equality: {len(monitored)} models with kmonitor, {len(plain)} without"]
    return [
        f"equality: model {ours.fold} differs from the one trained without kmonitor"
        for ours, theirs in zip(monitored, plain, strict=True)
        if ours.digest != theirs.digest
    ]
