"""Made-up events of a run whose memory, graph or step time develops in a chosen way."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor_agent.wire.messages.events import (
    EpochEnded,
    EpochStarted,
    Event,
    FitEnded,
    FitStarted,
    FunctionTraces,
    GraphSize,
    Sample,
    StepTimes,
    Verdict,
)

MIB = 2.0**20
EPOCH_S = 10.0


@dataclass(frozen=True)
class Growing:
    """Growth an epoch, or a fit when `epochs_a_fit` is not 0.

    Attributes:
        ram_mib: Resident set.
        traces: Live traces of `function`.
        retained: Those traces that no one needs.
        disused: Those of them whose weights are alive.
        step_s: Step time, seconds.
        others_mib: Memory that other processes take of what is left.
        left_mib: Memory left at first; None: it is not read.
        counts: Fields of counts, with what an epoch adds to each.
    """

    ram_mib: float = 0.0
    traces: int = 0
    retained: int = 0
    disused: int = 0
    step_s: float = 0.0
    function: str = "one_step_on_iterator"
    epochs_a_fit: int = 0
    ram_of_bytes: float = 16e9
    others_mib: float = 0.0
    left_mib: float | None = None
    counts: Mapping[str, float] = field(default_factory=dict[str, float])


def events_of(grows: Growing, n: int, *, first: int = 0) -> Iterator[Event]:
    """Events of `n` epochs (or fits) from number `first` on, each 10 s long."""
    if grows.epochs_a_fit:
        for unit in range(first, first + n):
            fit, t_s = unit + 1, unit * EPOCH_S
            yield FitStarted(t_s=t_s, fit=fit, model="net", batch_size=32)
            for epoch in range(grows.epochs_a_fit):
                yield from _epoch(grows, unit, fit, epoch, t_s)
            yield FitEnded(t_s=t_s + EPOCH_S, fit=fit, how="finished")
        return
    if not first:
        yield FitStarted(t_s=0.0, fit=1, model="net", batch_size=32)
    for unit in range(first, first + n):
        yield from _epoch(grows, unit, 1, unit, unit * EPOCH_S)


def _beside(grows: Growing, unit: int, ram: float) -> dict[str, Any]:
    """Fields of the memory left, and of counts."""
    fields: dict[str, Any] = {name: 100.0 + unit * per for name, per in grows.counts.items()}
    fields |= {f"{name}_of": 700.0 for name in grows.counts}
    if grows.left_mib is None:
        return {"ram_of_bytes": grows.ram_of_bytes} | fields
    left = grows.left_mib * MIB - (ram - 1000 * MIB) - grows.others_mib * MIB * unit
    return {"ram_left_bytes": left, "ram_of_bytes": ram + left} | fields


def _epoch(grows: Growing, unit: int, fit: int, epoch: int, t_s: float) -> Iterator[Event]:
    seconds = EPOCH_S / max(1, grows.epochs_a_fit)
    began_s = t_s + epoch % max(1, grows.epochs_a_fit) * seconds if grows.epochs_a_fit else t_s
    wobble = (unit * 7 % 5) * 0.3 * MIB
    ram = 1000 * MIB + grows.ram_mib * MIB * unit + wobble
    yield EpochStarted(t_s=began_s, fit=fit, epoch=epoch)
    for part, more in ((0.3, 0.0), (0.6, 4 * MIB)):
        yield Sample(
            t_s=began_s + part * seconds,
            fit=fit,
            epoch=epoch,
            ram_bytes=ram + more,
            **_beside(grows, unit, ram + more),
        )
    p50_s = 0.02 + grows.step_s * unit
    times = StepTimes(count=9, mean_s=p50_s, p50_s=p50_s, p95_s=p50_s, p99_s=p50_s, max_s=p50_s)
    yield EpochEnded(
        t_s=began_s + 0.9 * seconds, fit=fit, epoch=epoch, seconds=9.0, step_times=times
    )
    traces, retained = 5 + grows.traces * unit, grows.retained * unit
    yield GraphSize(
        t_s=began_s + 0.91 * seconds,
        fit=fit,
        epoch=epoch,
        operations=100 * traces,
        traces=traces,
        functions=2 * traces,
        retained=retained,
        by_function=[
            FunctionTraces(grows.function, traces, 100 * traces, retained),
            FunctionTraces("test_step", 1, 90),
        ],
        disused=grows.disused * unit,
    )


def epoch_with(
    epoch: int, ram_mib: float, *beside: Event, ram_of_mib: float = 16_000.0, **ended: float | None
) -> Iterator[Event]:
    """An epoch of the first fit with one sample.

    Args:
        epoch: Its index.
        ram_mib: Memory of the process, in the sample and at the end.
        beside: Events before the end.
        ram_of_mib: Memory that it can have.
        ended: Further fields of the epoch's end.
    """
    t_s = epoch * EPOCH_S
    ram_bytes = ram_mib * MIB
    yield EpochStarted(t_s=t_s, fit=1, epoch=epoch)
    yield Sample(
        t_s=t_s + 5.0, fit=1, epoch=epoch, ram_bytes=ram_bytes, ram_of_bytes=ram_of_mib * MIB
    )
    yield from beside
    fields: dict[str, Any] = {"ram_process_bytes": ram_bytes, **ended}
    yield EpochEnded(t_s=t_s + 9.0, fit=1, epoch=epoch, seconds=9.0, **fields)


def ram_verdicts(events: Iterable[Event]) -> list[Verdict]:
    """The verdict on memory after each epoch."""
    judge = RunJudge()
    found: list[Verdict] = []
    for event in events:
        judge.read(event.t_s, event)
        if isinstance(event, EpochEnded):
            judge.judge()
            found += [one for one in judge.newest_verdicts() if one.metric == "ram"]
    return found
