"""Foretold peaks beside TensorFlow's own allocator. Run: python bench_map.py [MODEL...]."""

import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import msgspec

from kmonitor.memory_map.dtypes import tensor_elements, variable_bytes
from kmonitor.memory_map.estimate import Plan, estimate
from kmonitor_agent.protocol.model_layout import ModelLayout

BATCHES = (4, 16, 48)
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
}  # fmt: skip
"""The rules were made with the first two groups; the third was measured once they stood."""


@dataclass(frozen=True, slots=True)
class Row:
    """One model at one batch size, bytes."""

    group: str
    name: str
    batch: int
    real_bytes: int
    estimate_bytes: int
    high_bytes: int
    copied_bytes: int

    @property
    def error(self) -> float:
        """Of the estimate, relative; below zero it is too low."""
        return self.estimate_bytes / self.real_bytes - 1

    @property
    def copied_error(self) -> float:
        """Of the formula that people copy."""
        return self.copied_bytes / self.real_bytes - 1


def main(wanted: list[str]) -> None:
    """Print a row for each model and batch, and what they come to."""
    rows: list[Row] = []
    print("| model | batch | measured MiB | estimate | error | up to | copied formula |")
    print("|---|---|---|---|---|---|---|")
    for group, names in MODELS.items():
        for name in names:
            if wanted and name not in wanted:
                continue
            for batch in BATCHES:
                row = _row(group, name, batch)
                rows.append(row)
                print(
                    f"| {name} | {batch} | {row.real_bytes / MIB:.1f} |"
                    f" {row.estimate_bytes / MIB:.1f} | {row.error:+.1%} |"
                    f" {row.high_bytes / MIB:.1f} | {row.copied_error:+.0%} |",
                    flush=True,
                )
    print("\n| group | n | median | 90 % | more than 10 % low | above the interval | copied |")
    print("|---|---|---|---|---|---|---|")
    for group in (*MODELS, "all"):
        _say_group(group, [each for each in rows if group in (each.group, "all")])
    print(f"\nLeft out of the sums, since the meter cannot see them: {', '.join(NOT_MEASURABLE)}.")


def _say_group(group: str, rows: list[Row]) -> None:
    rows = [each for each in rows if each.name not in NOT_MEASURABLE]
    if not rows:
        return
    errors = sorted(abs(each.error) for each in rows)
    low = sum(each.error < -0.1 for each in rows) / len(rows)
    above = sum(each.real_bytes > each.high_bytes for each in rows) / len(rows)
    copied = statistics.median(abs(each.copied_error) for each in rows)
    print(
        f"| {group} | {len(rows)} | {statistics.median(errors):.1%} |"
        f" {errors[int(0.9 * len(errors))]:.1%} | {low:.1%} | {above:.1%} | {copied:.0%} |"
    )


def _row(group: str, name: str, batch: int) -> Row:
    told = _measured(name, batch)
    layout = msgspec.convert(told["layout"], ModelLayout)
    slots = layout.optimizer.slots if layout.optimizer else ()
    unseen = sum(
        size for each in (*layout.variables, *(slots or ()))
        if (size := variable_bytes(each)) < METER_BYTES
    )  # fmt: skip
    found = estimate(layout, Plan(batch=batch))
    return Row(
        group,
        name,
        batch,
        real_bytes=max(told["peaks_bytes"][1:]) + unseen,
        estimate_bytes=found.peak_bytes,
        high_bytes=found.high_bytes or 0,
        copied_bytes=_copied(layout, batch),
    )


def _copied(layout: ModelLayout, batch: int) -> int:
    """Outputs of all layers times the batch, and all weights, times four bytes.

    Source: https://stackoverflow.com/questions/43137288, as it is passed on.
    """
    outputs = {place for call in layout.calls for place in call.outputs}
    values = sum(tensor_elements(layout.tensors[each], batch) for each in outputs)
    return 4 * values + sum(map(variable_bytes, layout.variables))


def _measured(name: str, batch: int) -> dict[str, Any]:
    environ = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    command = [sys.executable, "-m", "tests.support.map_measuring", name, str(batch), "adam"]
    ended = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    return json.loads(ended.stdout.splitlines()[-1])


if __name__ == "__main__":
    main(sys.argv[1:])
