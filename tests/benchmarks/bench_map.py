"""Predicted peaks beside TensorFlow's own allocator.

Run: `python bench_map.py [MODEL...]`, or on models by chance that no one has seen:
`KMONITOR_BENCH_SEED=$(date +%N) make bench ARGS=map`. `--help` lists the options.

A training's peak is that of its highest step, which differs from one process to the next: loops
run ahead of their sums by chance, and TensorFlow runs what is ready in an order that is each
process's own. With `--repeat` each training is measured in several processes. Errors are against
the median of them, the upper end is compared with all, and the row "second run" says how far one
process is from the median of the others: no estimate can be better.
"""

import argparse
import os
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from kmonitor.memory.estimate import Plan, estimate
from kmonitor.memory.tensor_sizes import OpenShape, tensor_elements, variable_bytes
from kmonitor.memory.traced_step import Traced
from kmonitor_agent.wire.messages.model_layout import ModelLayout
from kmonitor_agent.wire.messages.step_program import StepProgram
from tests.support.fresh_models import FRESH
from tests.support.held_models import HELD_OUT
from tests.support.map_children import MapChildren, NoAnswer
from tests.support.random_models import HELD_OUT as CHANCE
from tests.support.random_models import PREFIX
from tests.support.trained_models import MADE_WITH

BATCHES = (4, 16, 48)
N_BY_CHANCE = 30
MIB = 2**20
METER_BYTES = 256 * 1024
"""TensorFlow's allocator on a CPU does not count what is smaller."""

NOT_MEASURABLE = ("lstm", "gru")
"""Loops of steps whose tensors are each smaller than that."""

MODELS = {
    "known": (
        "small_cnn", "mlp", "autoencoder", "u_net", "transformer", "lstm", "gru", "resnet50",
        "vgg16", "mobilenet_v2", "efficientnet_b0", "densenet121",
    ),
    "awkward": ("two_towers", "frozen_backbone", "gated", "convolutions_of_text", "wide_output"),
    "unseen": ("conv_next", "film", "squeezed", "mixer", "two_heads", "vision_transformer"),
    "made with": tuple(MADE_WITH),
    "held out": tuple(HELD_OUT),
    "fresh": tuple(FRESH),
    "by chance": CHANCE,
}  # fmt: skip
"""The rules were made with the first two groups; the third was measured once they stood. The
simulation was made with the fourth; findings of the others went into it afterwards, each once
the group had been measured. The last is made of all families of layers by chance; rules and their
intervals were made with other seeds."""

NOT_RUNNING = {
    "model-profiler 1.1.8": "'Conv2D' object has no attribute 'output_shape' (Keras 3)",
    "keras-flops 0.1.2": "counts operations alone; registers twice what TensorFlow 2.21 has",
    "memoraith 0.4.0": "measures a training that runs",
    "tiny-model-profiler 0.3.1": "PyTorch alone, parameters alone",
}
"""Published estimators that were tried with these versions, and why there is no column of theirs.
model-profiler's formula is the copied one."""


@dataclass(frozen=True, slots=True)
class Row:
    """One model at one batch size, bytes."""

    group: str
    name: str
    batch: int
    all_real_bytes: tuple[int, ...]
    estimate_bytes: int
    high_bytes: int | None
    traced_bytes: int
    traced_high_bytes: int | None
    copied_bytes: int

    @property
    def real_bytes(self) -> float:
        """The median of all processes."""
        return statistics.median(self.all_real_bytes)

    @property
    def own_errors(self) -> list[float]:
        """Error of the others' median as an estimate for each process; empty for one process."""
        real = self.all_real_bytes
        others = ((size, real[:index] + real[index + 1 :]) for index, size in enumerate(real))
        return [statistics.median(rest) / size - 1 for size, rest in others if rest]

    @property
    def error(self) -> float:
        """Error of the estimate, relative; below zero it is too low."""
        return self.estimate_bytes / self.real_bytes - 1

    @property
    def traced_error(self) -> float:
        """Error of the traced step."""
        return self.traced_bytes / self.real_bytes - 1

    @property
    def copied_error(self) -> float:
        """Error of the formula that people copy."""
        return self.copied_bytes / self.real_bytes - 1


def main(wanted: list[str], seed: int | None = None, repeat: int = 1) -> None:
    """Print a row for each model and batch, and totals.

    Args:
        wanted: Names of models; empty: all.
        seed: Seed of random models that replace all others; None: those that are held out.
        repeat: Processes in which each is measured.
    """
    models = MODELS
    if seed is not None:
        models = {"by chance": tuple(f"{PREFIX}{seed + n}" for n in range(N_BY_CHANCE))}
    with MapChildren() as children:
        rows = _rows(children, models, wanted, repeat)
    print("\n| group | n | way | median | 90% | more than 10% low | fits, but did not |")
    print("|---|---|---|---|---|---|---|")
    for group in (*MODELS, "all"):
        _say_group(group, [each for each in rows if group in (each.group, "all")])
    print(f"\nLeft out of the sums, since the meter cannot see them: {', '.join(NOT_MEASURABLE)}.")
    for name, why in NOT_RUNNING.items():
        print(f"Did not run: {name}: {why}.")


def _rows(
    children: MapChildren, models: Mapping[str, tuple[str, ...]], wanted: list[str], repeat: int
) -> list[Row]:
    rows: list[Row] = []
    print(
        "| model | batch | measured MiB | traced | error | up to | rules | error | up to |"
        " copied |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for group, names in models.items():
        for name in names:
            if wanted and name not in wanted:
                continue
            try:
                program = msgspec.json.decode(children.traced(name), type=StepProgram)
            except NoAnswer as exc:
                print(f"| {name} | left out: {exc} |", flush=True)
                continue
            for batch in BATCHES:
                measured = [children.measured(name, batch) for _ in range(repeat)]
                try:
                    row = _row(group, name, batch, program, measured)
                except OpenShape as exc:
                    print(f"| {name} | left out: an axis has no length: {exc} |", flush=True)
                    break
                rows.append(row)
                print(
                    f"| {name} | {batch} | {row.real_bytes / MIB:.1f} |"
                    f" {row.traced_bytes / MIB:.1f} | {row.traced_error:+.1%} |"
                    f" {_mib(row.traced_high_bytes)} |"
                    f" {row.estimate_bytes / MIB:.1f} | {row.error:+.1%} |"
                    f" {_mib(row.high_bytes)} |"
                    f" {row.copied_error:+.0%} |",
                    flush=True,
                )
    return rows


def _say_group(group: str, rows: list[Row]) -> None:
    """Print the error of each way; a fit is wrong where the real peak is above the upper end.

    If there is no upper end (classes that compute in their own code, by rules), none is
    printed.
    """
    rows = [each for each in rows if each.name not in NOT_MEASURABLE]
    ways = {
        "traced": [(each.traced_error, each.traced_high_bytes) for each in rows],
        "rules": [(each.error, each.high_bytes) for each in rows],
        "copied": [(each.copied_error, each.copied_bytes) for each in rows],
    }
    for way, told in ways.items() if rows else ():
        errors = sorted(abs(error) for error, _ in told)
        low = sum(error < -0.1 for error, _ in told) / len(told)
        above = sum(
            high is not None and max(row.all_real_bytes) > high
            for row, (_, high) in zip(rows, told, strict=True)
        ) / len(told)
        print(
            f"| {group} | {len(rows)} | {way} | {statistics.median(errors):.1%} |"
            f" {_percentile_90(errors):.1%} | {low:.1%} | {above:.1%} |"
        )
    own = sorted(abs(error) for row in rows for error in row.own_errors)
    if own:
        print(
            f"| {group} | {len(own)} | second run | {statistics.median(own):.1%} |"
            f" {_percentile_90(own):.1%} | | |"
        )


def _percentile_90(ascending: list[float]) -> float:
    return ascending[int(0.9 * len(ascending))]


def _row(
    group: str, name: str, batch: int, program: StepProgram, measured: list[dict[str, Any]]
) -> Row:
    layout = msgspec.convert(measured[0]["layout"], ModelLayout)
    found = estimate(layout, Plan(batch=batch))
    traced = estimate(layout, Plan(batch=batch, traced=Traced(program, layout)))
    return Row(
        group,
        name,
        batch,
        all_real_bytes=tuple(
            max(each["peaks_bytes"][1:]) + unseen_bytes(layout) for each in measured
        ),
        estimate_bytes=found.peak_bytes,
        high_bytes=found.high_bytes,
        traced_bytes=traced.peak_bytes,
        traced_high_bytes=traced.high_bytes,
        copied_bytes=_copied(layout, batch),
    )


def unseen_bytes(layout: ModelLayout) -> int:
    """Variables that the allocator does not count."""
    slots = layout.optimizer.slots if layout.optimizer else ()
    sizes = (variable_bytes(each) for each in (*layout.variables, *(slots or ())))
    return sum(size for size in sizes if size < METER_BYTES)


def _mib(size: int | None) -> str:
    return "" if size is None else f"{size / MIB:.1f}"


def _copied(layout: ModelLayout, batch: int) -> int:
    """Outputs of all layers times the batch, and all weights, times four bytes.

    Source: https://stackoverflow.com/questions/43137288, as it is passed on.
    """
    outputs = {place for call in layout.calls for place in call.outputs}
    values = sum(tensor_elements(layout.tensors[each], batch) for each in outputs)
    return 4 * values + sum(map(variable_bytes, layout.variables))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("models", nargs="*", help="names; none: all")
    seed = os.environ.get("KMONITOR_BENCH_SEED") or None
    parser.add_argument("--seed", type=int, default=seed, help="of models by chance alone")
    parser.add_argument("--repeat", type=int, default=1, help="processes that measure each")
    return parser.parse_args()


if __name__ == "__main__":
    options = _options()
    main(options.models, options.seed, options.repeat)
