"""Estimate of a training step's memory by layer, from the description of the model alone."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from kmonitor.memory.buffer_lifetimes import Step, StepUsage, doubtful, simulate_step
from kmonitor.memory.layer_rules import Backend, Effect, Use, assumed, effect_of
from kmonitor.memory.layer_table import LayerMemory, layer_rows
from kmonitor.memory.optimizer_slots import Slots, early_copies, real_slot_bytes, slots_of
from kmonitor.memory.peak_parts import PeakPart, with_parts
from kmonitor.memory.tensor_sizes import (
    item_bytes,
    tensor_elements,
    variable_bytes,
    with_precision,
)
from kmonitor.memory.traced_step import Traced
from kmonitor_agent.wire.messages.model_layout import CallLayout, ModelLayout, OptimizerLayout
from kmonitor_agent.wire.text import binary_size, round_binary_size


class MemoryMap(msgspec.Struct, frozen=True):
    """Memory of a training by layer and kind, bytes; the rows add up to the peak.

    Attributes:
        peak_bytes: Highest use by the framework's allocator in a step.
        low_bytes: Low end of the peak's range.
        high_bytes: High end of the range; None if feature maps are unknown without measuring.
        resident_bytes: Memory that stays between steps: parameters, slots, states.
        transient_bytes: Further memory at the peak of a step.
        parameter_bytes: Part of the resident memory for the model's variables.
        slot_bytes: Part of the resident memory for the optimizer's slots.
        gradient_bytes: All gradients together, which need not exist at the same time.
        kept_bytes: Feature maps that still wait for the backward pass at the peak.
        tier: Calibration level: 1 measured at several batches, 2 scaled by one measurement, 3
            without measurement.
        method: Method of the estimate, as text.
        uncovered: Kinds of layers without a rule.
        layers: One row per layer, in the order of computing.
        batch: Examples per step.
        optimizer: Name, or empty.
        precision: Dtype policy.
        backend: Backend that computes the step.
        notes: Notes for the reader, as text.
        activation_bytes: Feature maps kept when the backward pass begins; more than at the peak
            if the peak is later.
    """

    peak_bytes: int
    low_bytes: int
    high_bytes: int | None
    resident_bytes: int
    transient_bytes: int
    parameter_bytes: int
    slot_bytes: int
    gradient_bytes: int
    kept_bytes: int
    tier: int
    method: str
    uncovered: tuple[str, ...]
    layers: tuple[LayerMemory, ...]
    batch: int
    optimizer: str
    precision: str
    backend: Backend
    notes: tuple[str, ...] = ()
    activation_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan of a training.

    Attributes:
        batch: Examples per step, at least 1.
        optimizer: Optimizer to use; None: the model's own.
        precision: Dtype policy to use; None: the model's own.
        backend: Backend of a step; None: from the description, else TensorFlow.
        unseen_bytes: Size below which tensors are not counted, like by an allocator that does not
            see them.
        traced: Traced step, if available; rules are used for trainings that it was not traced for.
        has_rows: True if the table and the activations are computed too; peaks alone take less
            time.
    """

    batch: int
    optimizer: OptimizerLayout | None = None
    precision: str | None = None
    backend: Backend | None = None
    unseen_bytes: int = 0
    traced: Traced | None = None
    has_rows: bool = True


def estimate(layout: ModelLayout, plan: Plan) -> MemoryMap:
    """Memory of a training by its traced step if there is one, else by rules for layers.

    Raises:
        OpenShape: An axis besides the batch has no length.
        KeyError: `plan.precision` is not in `tensor_sizes.POLICIES`.
    """
    found = _Estimate(layout, plan).result()
    traced = plan.traced
    is_traced = (
        traced is not None
        and found.backend == "tensorflow"
        and traced.is_for(layout, plan.optimizer, plan.precision)
    )
    return _by_trace(found, traced, plan) if is_traced and traced is not None else found


def backend_of(layout: ModelLayout) -> Backend:
    """Backend of the described model, TensorFlow if the description has none."""
    if layout.backend == "torch":
        return "torch"
    return "xla" if layout.backend == "jax" or layout.jit_compile else "tensorflow"


_UNCOVERED_MARGIN: Final = 0.50
"""Further margin where a layer's rule had to be assumed."""

_WORTH_BYTES: Final = 2**20 // 10
"""Size below which small variables are not mentioned, bytes."""


def _by_trace(found: MemoryMap, traced: Traced, plan: Plan) -> MemoryMap:
    program = traced.program
    unseen = plan.unseen_bytes or program.unseen_bytes
    traced_peak = traced.peak(plan.batch, unseen)
    notes = [*program.notes]
    if unseen:
        notes.append(
            "counted the way TensorFlow's CPU allocator counts, without tensors below "
            f"{round_binary_size(unseen)}{_of_small_variables(traced_peak.left_out_bytes)}"
        )
    if traced_peak.waiting_bytes >= _WORTH_BYTES:
        notes.append(
            "depending on timing, loop iterations may overlap and use up to"
            f" {binary_size(traced_peak.waiting_bytes)} more; the upper bound includes this"
        )
    uncovered = [f"{program.unknown} tensors whose size depends on the data"] * bool(
        program.unknown
    )
    peak = max(traced_peak.peak_bytes, found.resident_bytes)
    resident = found.resident_bytes
    high = traced_peak.high_bytes(resident)
    layers: tuple[LayerMemory, ...] = ()
    if plan.has_rows:
        layers = traced.rows_at_peak(found.layers, plan.batch, unseen, peak)
    return msgspec.structs.replace(
        found,
        peak_bytes=peak,
        low_bytes=min(peak, traced_peak.low_bytes(resident)),
        high_bytes=high + (int(_UNCOVERED_MARGIN * (peak - resident)) if uncovered else 0),
        transient_bytes=peak - resident,
        kept_bytes=sum(each.kept_bytes for each in layers),
        method="traced and simulated step; nothing was run",
        uncovered=tuple(uncovered),
        layers=layers,
        notes=tuple(notes),
        activation_bytes=sum(each.activation_bytes for each in layers),
    )


def _of_small_variables(n_bytes: int) -> str:
    if n_bytes < _WORTH_BYTES:
        return ""
    return f"; variables that small make up {binary_size(n_bytes)} of the peak"


_MARGIN: Final[dict[Backend, float]] = {"tensorflow": 0.40, "xla": 0.40, "torch": 0.50}
"""Margin upwards of the transient part. Source: `bench_map`."""

_SLACK: Final = 0.04
"""Margin for pieces of resident memory, which may be larger than counted."""

_LOW: Final = 0.25

_OWN_STEP_MARGIN: Final = 1.00
"""Further margin for a model's own train step, which may pass through the model twice."""

_ROUNDING: Final[dict[Backend, tuple[float, float]]] = {
    "tensorflow": (0.04, 0.09),
    "xla": (0.01, 0.02),
    "torch": (0.02, 0.05),
}
"""Shares that an allocator adds to the resident and the transient part: its pieces are larger than
requested. Source: TensorFlow's from `bench_map`; XLA packs into one buffer; PyTorch's was not
measured."""

_UPDATE_COPIES: Final[dict[Backend, float]] = {"tensorflow": 3.0, "xla": 1.0, "torch": 3.0}
"""Copies of the largest gradient during its update."""

_IN_PLACE_COPIES: Final = 2.0
"""Copies for SGD, whose update replaces the gradient: the gradient, and a copy of a variable that
the backward pass still reads."""


class _Estimate:
    def __init__(self, layout: ModelLayout, plan: Plan) -> None:
        self._layout = with_precision(layout, plan.precision or layout.precision)
        self._plan = plan
        self._backend: Backend = plan.backend or backend_of(layout)
        self._optimizer = plan.optimizer or layout.optimizer
        sliced = self._sliced_variables()
        self._gradients = tuple(
            variable_bytes(each)
            if each.is_trainable and self._optimizer and index not in sliced
            else 0
            for index, each in enumerate(self._layout.variables)
        )
        self._sizes = self._tensor_sizes()
        self._needs = self._needs_gradient()
        self._uncovered: list[str] = []

    def _sliced_variables(self) -> frozenset[int]:
        """Tables whose gradient covers only the looked-up rows, never the whole table.

        Adam and others expand the gradient; plain SGD subtracts rows.
        """
        if not self._is_applied_in_place():
            return frozenset()
        return frozenset(
            index
            for layer in self._layout.layers
            if layer.kind == "Embedding"
            for index in layer.variables
        )

    def _is_applied_in_place(self) -> bool:
        """True for plain SGD, which subtracts the scaled gradient from its variable."""
        optimizer = self._optimizer
        if optimizer is None or self._backend != "tensorflow":
            return False
        return optimizer.kind.lower() == "sgd" and not optimizer.settings.get("momentum")

    def _tensor_sizes(self) -> list[int]:
        batch = self._plan.batch
        return [
            tensor_elements(each, batch) * item_bytes(each.dtype) for each in self._layout.tensors
        ]

    def result(self) -> MemoryMap:
        layout = self._layout
        slots = slots_of(self._optimizer, layout.variables)
        slot_bytes = self._slot_bytes(slots)
        parameter_bytes = sum(map(variable_bytes, layout.variables))
        steps = [self._step(call) for call in layout.calls]
        played = self._usage(steps)
        resident = parameter_bytes + slot_bytes
        transient = self._transient(played, resident)
        doubted = [doubtful(each) for each in steps]
        all_waiting = sum(self._gradients) + 2 * max(self._gradients, default=0)
        most = max(transient, all_waiting + self._early_bytes())
        if doubted != steps:
            most = max(most, self._transient(self._usage(doubted), resident))
        low, high = self._interval(resident, transient, most)
        layers = self._rows(played, slots, slot_bytes, resident + transient)
        return MemoryMap(
            peak_bytes=resident + transient,
            low_bytes=low,
            high_bytes=high,
            resident_bytes=resident,
            transient_bytes=transient,
            parameter_bytes=parameter_bytes,
            slot_bytes=slot_bytes,
            gradient_bytes=sum(self._gradients),
            kept_bytes=sum(each.kept_bytes for each in layers),
            tier=3,
            method="rules for each layer class; nothing was run",
            uncovered=tuple(dict.fromkeys(self._uncovered)),
            layers=layers,
            batch=self._plan.batch,
            optimizer=self._optimizer.kind if self._optimizer else "",
            precision=layout.precision,
            backend=self._backend,
            notes=tuple(self._notes(slots)),
            activation_bytes=sum(played.activation_bytes_by_call),
        )

    def _rows(
        self, played: StepUsage, slots: Slots, slot_bytes: int, peak_bytes: int
    ) -> tuple[LayerMemory, ...]:
        """Rows of the table, which add up to the peak."""
        if not self._plan.has_rows:
            return ()
        own_slots = slots.by_variable
        by_rule = sum(own_slots)
        if by_rule > slot_bytes:  # it keeps less than its rule says
            own_slots = tuple(each * slot_bytes // by_rule for each in own_slots)
        rows = layer_rows(
            self._layout, played.activation_bytes_by_call, own_slots, frozenset(self._uncovered)
        )
        return with_parts(rows, self._parts(played), peak_bytes)

    def _parts(self, played: StepUsage) -> dict[int, PeakPart]:
        """Part of each layer at the peak, by index of the layer; -1: the part of no layer."""
        found: dict[int, PeakPart] = {}

        def add(index: int, part: PeakPart) -> None:
            found[index] = found.get(index, PeakPart()) + part

        held = self._held_gradients()
        early = self._early_bytes()
        if self._update_floor() > played.peak_bytes + held + early:
            index, gradient = max(
                self._gradients_by_layer().items(), key=lambda each: each[1], default=(-1, 0)
            )
            gradient = min(gradient, max(self._gradients, default=0))
            add(index, PeakPart(gradient, work=self._update_floor() - gradient))
            return found
        for call, part in zip(self._layout.calls, played.part_by_call, strict=False):
            add(call.layer, part)
        add(-1, played.part_by_call[-1] + PeakPart(work=early))
        for index, gradient in self._gradients_by_layer().items() if held else ():
            add(index, PeakPart(gradient))
        return found

    def _gradients_by_layer(self) -> dict[int, int]:
        """Bytes of gradients by index of the layer that owns the variable; -1: no layer."""
        owners: dict[int, int] = {}
        for index, layer in enumerate(self._layout.layers):
            for each in layer.variables:
                owners.setdefault(each, index)
        found: dict[int, int] = {}
        for variable, n_bytes in enumerate(self._gradients):
            owner = owners.get(variable, -1)
            found[owner] = found.get(owner, 0) + n_bytes
        return found

    def _usage(self, steps: list[Step]) -> StepUsage:
        return simulate_step(
            self._layout,
            steps,
            self._sizes,
            self._needs,
            loss_bytes=self._loss_bytes(),
            unseen_bytes=self._plan.unseen_bytes,
        )

    def _transient(self, usage: StepUsage, resident: int) -> int:
        """Bytes of a step beyond the resident part, with the allocator's rounding."""
        held = self._held_gradients() + self._early_bytes()
        transient = max(usage.peak_bytes + held, self._update_floor())
        of_resident, of_transient = _ROUNDING[self._backend]
        return transient + int(of_resident * resident + of_transient * transient)

    def _early_bytes(self) -> int:
        """Bytes of terms of updates and penalties that do not wait for a gradient."""
        if self._backend != "tensorflow":
            return 0
        punished = {
            index
            for layer in self._layout.layers
            if any(
                name.endswith("_regularizer") for name, value in layer.settings.items() if value
            )
            for index in layer.variables
            if len(self._layout.variables[index].shape) > 1
        }
        penalties = sum(self._gradients[each] for each in punished)
        return early_copies(self._optimizer) * sum(self._gradients) + penalties

    def _slot_bytes(self, slots: Slots) -> int:
        """Bytes of slots.

        The described slots are used if the optimizer is the model's own and nothing changes.
        """
        if self._plan.optimizer is None and self._optimizer is not None:
            is_as_described = self._plan.precision in (None, self._layout.precision)
            real = real_slot_bytes(self._optimizer)
            if real is not None and is_as_described:
                return real
        return slots.total_bytes

    def _step(self, call: CallLayout) -> Step:
        layout = self._layout
        layer = layout.layers[call.layer]
        outputs = [layout.tensors[each] for each in call.outputs]
        use = Use(
            layer=layer,
            backend=self._backend,
            inputs=[layout.tensors[each] for each in call.inputs],
            outputs=outputs,
            input_bytes=[self._sizes[each] for each in call.inputs],
            output_bytes=[self._sizes[each] for each in call.outputs],
            batch=self._plan.batch,
            item=item_bytes(outputs[0].dtype) if outputs else 4,
            variable_shapes=[layout.variables[each].shape for each in layer.variables],
            gives_gradient=any(self._needs[each] for each in call.inputs),
        )
        effect = effect_of(use) if use.inputs and outputs else Effect()
        if effect is not None and self._ends_in_loss(call):
            # A cross-entropy computes with what the last activation was given.
            effect = replace(effect, keeps_outputs=False)
        if effect is None:
            self._uncovered.append(layer.kind)
            effect = assumed(use)
        gradients = [self._gradients[each] for each in layer.variables]
        largest = max(gradients, default=0)
        return Step(
            effect=effect,
            gradient_bytes=largest,
            update_bytes=int(self._update_copies() * largest),
            applied_bytes=largest if self._is_applied_in_place() else 2 * largest,
            copy_bytes=self._copies(layer.variables, use.item),
            is_assumed=layer.kind in self._uncovered,
        )

    def _ends_in_loss(self, call: CallLayout) -> bool:
        settings = self._layout.layers[call.layer].settings
        ends = settings.get("activation") in ("softmax", "sigmoid") and not self._is_needed_again(
            call
        )
        return ends and "crossentropy" in self._layout.loss and self._backend != "torch"

    def _is_needed_again(self, call: CallLayout) -> bool:
        return not set(call.outputs) <= set(self._layout.outputs)

    def _copies(self, variables: Sequence[int], item: int) -> int:
        """Bytes of copies of matrices in the computing precision."""
        shapes = [self._layout.variables[each] for each in variables]
        return sum(
            math.prod(each.shape) * item
            for each in shapes
            if len(each.shape) > 1 and item < item_bytes(each.dtype)
        )

    def _needs_gradient(self) -> list[bool]:
        needs = [False] * len(self._sizes)
        for call in self._layout.calls:
            own = any(self._gradients[each] for each in self._layout.layers[call.layer].variables)
            if own or any(needs[each] for each in call.inputs):
                for each in call.outputs:
                    needs[each] = self._layout.tensors[each].dtype.startswith(("float", "bfloat"))
        return needs

    def _loss_bytes(self) -> int:
        """Bytes of float32 copies that loss and metrics compare with the outputs."""
        last = {tensor for call in self._layout.calls if self._ends_in_loss(call)
                for tensor in call.outputs}  # fmt: skip
        copies = 1 if self._layout.has_metrics else 0
        return sum(
            4
            * tensor_elements(self._layout.tensors[each], self._plan.batch)
            * (copies if each in last else 1 + copies)
            for each in self._layout.outputs
        )

    def _held_gradients(self) -> int:
        """Bytes of gradients that wait for each other, if all are needed before the first use."""
        if self._optimizer is None:
            return 0
        settings = self._optimizer.settings
        waits = settings.get("global_clipnorm") or settings.get("gradient_accumulation_steps")
        return sum(self._gradients) if waits or self._backend == "torch" else 0

    def _update_floor(self) -> int:
        """Bytes for applying the gradients, independent of the batch."""
        if self._backend == "torch":
            return 3 * sum(self._gradients)
        return int(self._update_copies() * max(self._gradients, default=0))

    def _update_copies(self) -> float:
        """Copies of a gradient during its update, with temporaries of the optimizer."""
        if self._is_applied_in_place():
            return _IN_PLACE_COPIES
        is_nadam = self._optimizer is not None and self._optimizer.kind.lower() == "nadam"
        return _UPDATE_COPIES[self._backend] + (2 if is_nadam else 0)

    def _interval(self, resident: int, transient: int, most: int) -> tuple[int, int | None]:
        low = resident + int(transient * (1 - _LOW))
        if not self._layout.calls:
            return resident, None
        found = unmeasured(self._layout, self._backend)
        margin = _MARGIN[self._backend] + (_UNCOVERED_MARGIN if self._uncovered else 0)
        margin += _OWN_STEP_MARGIN if self._layout.why_no_calls else 0
        margin += sum(each.margin for each in found)
        more = _SLACK * resident + sum(each.more_bytes for each in found)
        return low, resident + int(most * (1 + margin) + more)

    def _notes(self, slots: Slots) -> list[str]:
        notes = [each.text for each in unmeasured(self._layout, self._backend)]
        if self._layout.why_no_calls:
            notes.append(self._layout.why_no_calls)
        if not slots.is_known and self._optimizer is not None:
            notes.append(
                f"the optimizer state of {self._optimizer.kind} is unknown: Adam's is assumed"
            )
        if self._optimizer is None:
            notes.append("the model is not compiled: no optimizer and no gradients are counted")
        return notes


_RECURRENT: Final = frozenset(
    {"LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"}
)


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """A part of a training whose estimate was not compared with measurements.

    Attributes:
        text: Note for the reader, with advice.
        margin: Margin of the transient part beyond the default one.
        more_bytes: Further bytes of the margin, independent of the batch.
    """

    text: str
    margin: float
    more_bytes: int = 0


_XLA: Final = Unmeasured(
    "XLA decides what to fuse: the rules were validated against its memory plans, not against an"
    " allocator, and on a CPU, XLA uses up to three times as much; measuring five steps corrects"
    " for this",
    2.20,
)
_TORCH: Final = Unmeasured(
    "the rules for PyTorch were not validated against an allocator; measuring five steps on a"
    " GPU corrects for this",
    0.25,
)
_HALF: Final = Unmeasured(
    "the rules for 16-bit precision were validated only on CPUs, whose convolutions use 32-bit"
    " copies; measuring five steps corrects for this",
    0.80,
    2 * 32 * 2**20,  # each of two workers gathers patches as large as the last cache
)
_LOOPS: Final = Unmeasured(
    "the framework may run loop iterations of recurrent layers ahead of time and keep the "
    "tensors of all of them in memory; the rules for these layers were not validated "
    "against an allocator",
    0.25,
)


def unmeasured(layout: ModelLayout, backend: Backend) -> tuple[Unmeasured, ...]:
    """Return the parts of a training whose estimate was not compared with measurements.

    Args:
        layout: Layout of the model, in the precision of the training.
    """
    return tuple(_unmeasured_aspects(layout, backend))


def _unmeasured_aspects(layout: ModelLayout, backend: Backend) -> Iterator[Unmeasured]:
    if backend != "tensorflow":
        yield _XLA if backend == "xla" else _TORCH
    if any(each.dtype in ("float16", "bfloat16") for each in layout.tensors):
        yield _HALF
    if any(each.kind in _RECURRENT for each in layout.layers):
        yield _LOOPS
