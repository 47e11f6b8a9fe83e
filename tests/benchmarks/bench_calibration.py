"""Estimates corrected by five steps, beside peaks of others. Run: python bench_calibration.py.

Each is measured in two starts: what the second differs by is what no estimate can do better.
"""

import itertools
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from kmonitor.memory.calibration import STEPS_NEEDED, Calibration, NotIdentifiable, PeakMeasurement
from kmonitor.memory.estimate import MemoryMap, Plan
from kmonitor_agent.wire.messages.model_layout import ModelLayout
from tests.support.map_children import MapChildren

BATCHES = (4, 8, 16, 32, 64)
MEASURED = 0
"""Stands where a tier does: not an estimate, but the same training measured again."""
FURTHEST = 4
"""Times the largest measured batch."""

MODELS = (
    "small_cnn", "mlp", "autoencoder", "u_net", "transformer", "resnet50", "vgg16",
    "mobilenet_v2", "efficientnet_b0", "densenet121", "two_towers", "frozen_backbone", "gated",
    "convolutions_of_text", "wide_output", "conv_next", "film", "squeezed", "mixer", "two_heads",
    "vision_transformer",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Seen:
    """One model at one batch size.

    Attributes:
        layout: Layout of the model.
        first: Event that a run would send about its first steps.
        real_bytes: The highest peak of the steps behind the first one.
    """

    layout: ModelLayout
    first: PeakMeasurement
    real_bytes: int


@dataclass(frozen=True, slots=True)
class Row:
    """One estimate; `error` is relative, below zero it is too low."""

    tier: int
    error: float
    is_above: bool


def main(wanted: list[str]) -> None:
    """Print the errors of the estimates of each tier."""
    rows: list[Row] = []
    with MapChildren() as children:
        for name in wanted or MODELS:
            seen = {batch: _seen(children, name, batch) for batch in BATCHES}
            again = {batch: _seen(children, name, batch) for batch in BATCHES}
            rows += [_same(seen[batch], again[batch]) for batch in BATCHES]
            rows += _rows(seen, 1)
            rows += _rows(seen, 2)
            print(f"{name} measured", file=sys.stderr, flush=True)
    print("| tier | n | median | 90% | more than 10% low | above the interval |")
    print("|---|---|---|---|---|---|")
    for tier in (MEASURED, 2, 1):
        _say([each for each in rows if each.tier == tier], tier)


def _say(rows: list[Row], tier: int) -> None:
    errors = sorted(abs(each.error) for each in rows)
    if errors:
        low = sum(each.error < -0.1 for each in rows) / len(rows)
        above = sum(each.is_above for each in rows) / len(rows)
        print(
            f"| {tier or 'measured again'} | {len(rows)} | {statistics.median(errors):.1%} |"
            f" {errors[int(0.9 * len(errors))]:.1%} | {low:.1%} | {above:.1%} |"
        )


def _rows(seen: dict[int, Seen], n_measured: int) -> Iterator[Row]:
    for known in itertools.combinations(seen, n_measured):
        layout = seen[known[0]].layout
        try:
            found = Calibration(layout, Plan(1), [seen[each].first for each in known])
        except NotIdentifiable:
            continue
        for batch, other in seen.items():
            if batch not in known and known[0] < batch <= FURTHEST * known[-1]:
                yield _row(found.at(batch), other.real_bytes)


def _same(one: Seen, other: Seen) -> Row:
    return Row(MEASURED, one.first.peak_bytes / other.real_bytes - 1, is_above=False)


def _row(told: MemoryMap, real_bytes: int) -> Row:
    assert told.high_bytes is not None
    return Row(told.tier, told.peak_bytes / real_bytes - 1, real_bytes > told.high_bytes)


def _seen(children: MapChildren, name: str, batch: int) -> Seen:
    told = children.measured(name, batch)
    peaks, between = told["peaks_bytes"], told["between_bytes"]
    first = PeakMeasurement(
        batch,
        max(peaks[:STEPS_NEEDED]),
        between_bytes=int(statistics.median(between)),
        device="CPU",
    )
    return Seen(msgspec.convert(told["layout"], ModelLayout), first, max(peaks[1:]))


if __name__ == "__main__":
    main(sys.argv[1:])
