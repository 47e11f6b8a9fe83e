"""What would lower the peak: the same estimate again with one thing changed."""

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from kmonitor.memory.estimate import Plan, estimate
from kmonitor_agent.wire.messages.model_layout import ModelLayout, OptimizerLayout, Setting

_LEAST_SAVED: Final = 2**20
"""Less than this is no advice, bytes."""


class Advice(msgspec.Struct, frozen=True):
    """One change and what it is estimated to save.

    Attributes:
        change: What to do: "batch", "precision", "optimizer", "input" or "accumulation".
        words: In words, with what it means for the training's result.
        saved_bytes: Of the peak.
        peak_bytes: What the peak would be.
    """

    change: str
    words: str
    saved_bytes: int
    peak_bytes: int


def advise(
    layout: ModelLayout,
    plan: Plan,
    smaller_inputs: Mapping[str, ModelLayout] | None = None,
) -> tuple[Advice, ...]:
    """Changes that save memory, the largest saving first; none that would take more.

    Args:
        layout: Of the model.
        plan: How it is trained.
        smaller_inputs: The same model described with smaller inputs, by words for them.
    """
    work = advising(layout, plan, smaller_inputs)
    while True:
        try:
            next(work)
        except StopIteration as ended:
            found: tuple[Advice, ...] = ended.value
            return found


def advising(
    layout: ModelLayout,
    plan: Plan,
    smaller_inputs: Mapping[str, ModelLayout] | None = None,
) -> Generator[None, None, tuple[Advice, ...]]:
    """The same in steps of one estimate each, for who has other things to do meanwhile.

    Args:
        layout: As there, also for all that follow.
        plan: As there.
        smaller_inputs: As there.
    """
    now = estimate(layout, plan).peak_bytes
    found: list[Advice] = []
    for change in _changes(layout, plan, smaller_inputs or {}):
        yield
        peak = estimate(change.layout, change.plan).peak_bytes
        found.append(Advice(change.kind, change.words, now - peak, peak))
    useful = [each for each in found if each.saved_bytes >= _LEAST_SAVED]
    return tuple(sorted(useful, key=lambda each: -each.saved_bytes))


@dataclass(frozen=True, slots=True)
class _Change:
    kind: str
    words: str
    layout: ModelLayout
    plan: Plan


def _changes(
    layout: ModelLayout, plan: Plan, smaller: Mapping[str, ModelLayout]
) -> Iterator[_Change]:
    optimizer = plan.optimizer or layout.optimizer
    if plan.batch > 1:
        yield from _smaller_batches(layout, plan, optimizer)
    if (plan.precision or layout.precision) == "float32":
        for policy in ("mixed_bfloat16", "mixed_float16"):
            changed = replace(plan, precision=policy)
            yield _Change("precision", f"{policy} instead of float32", layout, changed)
    if optimizer is not None:
        for words, other in _optimizers(optimizer):
            yield _Change("optimizer", words, layout, replace(plan, optimizer=other))
    for words, described in smaller.items():
        yield _Change("input", words, described, plan)


def _smaller_batches(
    layout: ModelLayout, plan: Plan, optimizer: OptimizerLayout | None
) -> Iterator[_Change]:
    half = plan.batch // 2
    words = f"batch {half} instead of {plan.batch}; it changes how training goes"
    yield _Change("batch", words, layout, replace(plan, batch=half))
    if optimizer is None:
        return
    n = round(plan.batch / half)
    words = (
        f"batch {half} with gradient_accumulation_steps={n}: gradients of {plan.batch} examples,"
        f" but batch normalization sees {half}"
    )
    other = _other(optimizer, {**optimizer.settings, "gradient_accumulation_steps": n})
    yield _Change("accumulation", words, layout, replace(plan, batch=half, optimizer=other))


def _optimizers(optimizer: OptimizerLayout) -> Iterator[tuple[str, OptimizerLayout]]:
    for kind in ("Lion", "SGD"):
        if optimizer.kind.lower() != kind.lower():
            other = OptimizerLayout(kind=kind, loss_scaling=optimizer.loss_scaling)
            yield f"{kind} instead of {optimizer.kind}; it trains differently", other
    if optimizer.settings.get("amsgrad"):
        yield "amsgrad=False", _other(optimizer, {**optimizer.settings, "amsgrad": False})


def _other(optimizer: OptimizerLayout, settings: dict[str, Setting]) -> OptimizerLayout:
    return OptimizerLayout(optimizer.kind, settings, loss_scaling=optimizer.loss_scaling)
