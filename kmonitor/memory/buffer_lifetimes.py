"""Simulation of a training step by rules: lifetimes of buffers, and their highest sum."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from kmonitor.memory.layer_rules import Effect
from kmonitor.memory.peak_parts import PeakPart
from kmonitor_agent.wire.messages.model_layout import ModelLayout

_ASSUMED_TIMES: Final = 3
"""Factor by which a layer without a rule may keep more than assumed."""


@dataclass(frozen=True, slots=True)
class Step:
    """One use of a layer: its effect on memory, and bytes for its variables.

    Attributes:
        gradient_bytes: Gradients of the layer's trained variables.
        update_bytes: Workspace of their update, gradients included.
        applied_bytes: Gradient and temporaries of the last update, while the next layer computes.
        copy_bytes: Copies of the variables in the computing precision.
        is_assumed: True if no rule covers the layer.
    """

    effect: Effect
    gradient_bytes: int = 0
    update_bytes: int = 0
    applied_bytes: int = 0
    copy_bytes: int = 0
    is_assumed: bool = False


def doubtful(step: Step) -> Step:
    """The step with the most memory that it may take."""
    effect = step.effect
    times = _ASSUMED_TIMES if step.is_assumed else 1
    more = replace(
        effect,
        extra_bytes=times * effect.extra_bytes,
        backward_bytes=times * effect.backward_bytes + effect.doubtful_bytes,
    )
    return step if more == effect else replace(step, effect=more)


@dataclass(frozen=True, slots=True)
class StepUsage:
    """Memory that a step takes.

    Attributes:
        peak_bytes: The highest sum, beyond resident memory.
        activation_bytes: Bytes kept for the backward pass at its beginning.
        activation_bytes_by_call: Bytes that each use of a layer keeps then; a shared tensor
            belongs to the use that keeps it first.
        part_by_call: Part of each use of a layer at the peak; the last one belongs to no layer.
    """

    peak_bytes: int
    activation_bytes: int
    activation_bytes_by_call: tuple[int, ...]
    part_by_call: tuple[PeakPart, ...]


@dataclass(frozen=True, slots=True)
class _Work:
    """Workspace at a moment: its call, its bytes, and the bytes of weights' gradients in it."""

    call: int
    n_bytes: int
    gradient_bytes: int = 0


class _Heap:
    """Buffers, each with the number of its readers, and the content at the peak.

    Attributes:
        callers: Call that created each buffer.
        work_at_peak: Workspace at the peak, beside the buffers.
    """

    def __init__(self, unseen_bytes: int) -> None:
        self._unseen_bytes = unseen_bytes
        self.current = 0
        self.peak = 0
        self.sizes: list[int] = []
        self.needed: list[int] = []
        self.callers: list[int] = []
        self.work_at_peak: tuple[_Work, ...] = ()
        self._changes: list[int] = []
        self._changes_at_peak = 0

    def new(self, n_bytes: int, needed: int, caller: int) -> int:
        n_bytes = 0 if n_bytes < self._unseen_bytes else n_bytes
        buffer = len(self.sizes)
        self.sizes.append(n_bytes)
        self.needed.append(needed)
        self.callers.append(caller)
        if needed:
            self.current += n_bytes
            self._changes.append(buffer)
            self._see()
        else:
            self._see(_Work(caller, n_bytes))
        return buffer

    def need(self, buffer: int, more: int = 1) -> None:
        self.needed[buffer] += more

    def release(self, buffer: int) -> None:
        self.needed[buffer] -= 1
        if not self.needed[buffer]:
            self.current -= self.sizes[buffer]
            self._changes.append(~buffer)

    def work(self, *works: _Work) -> None:
        if sum(each.n_bytes for each in works) >= self._unseen_bytes:
            self._see(*works)

    def live_at_peak(self) -> list[int]:
        live: dict[int, None] = {}
        for change in self._changes[: self._changes_at_peak]:
            if change >= 0:
                live[change] = None
            else:
                live.pop(~change, None)
        return list(live)

    def _see(self, *works: _Work) -> None:
        seen = self.current + sum(each.n_bytes for each in works)
        if seen > self.peak:
            self.peak = seen
            self.work_at_peak = works
            self._changes_at_peak = len(self._changes)


def simulate_step(
    layout: ModelLayout,
    steps: Sequence[Step],
    sizes: Sequence[int],
    needs_gradient: Sequence[bool],
    *,
    loss_bytes: int,
    unseen_bytes: int = 0,
) -> StepUsage:
    """Play the forward pass and, where something is trained, the backward pass.

    Args:
        layout: Layout of the model, with calls in order.
        steps: One step per call.
        sizes: Bytes of each tensor.
        needs_gradient: True for each tensor with a trained variable below it.
        loss_bytes: Workspace of the loss.
        unseen_bytes: Size below which buffers are not counted.
    """
    player = _Player(layout, steps, sizes, needs_gradient, unseen_bytes)
    player.forward()
    activation_bytes = player.heap.current
    player.heap.work(_Work(len(layout.calls), loss_bytes))
    kept_by_call = player.activation_bytes_by_call()
    player.backward()
    return StepUsage(player.heap.peak, activation_bytes, kept_by_call, player.part_by_call())


class _Player:
    def __init__(
        self,
        layout: ModelLayout,
        steps: Sequence[Step],
        sizes: Sequence[int],
        needs_gradient: Sequence[bool],
        unseen_bytes: int,
    ) -> None:
        self.heap = _Heap(unseen_bytes)
        self._layout = layout
        self._steps = steps
        self._sizes = sizes
        self._needs = needs_gradient
        self._buffers: dict[int, int] = {}
        self._activations: list[list[int]] = [[] for _ in layout.calls]
        self._gradients: dict[int, int] = {}
        self._nobody = len(layout.calls)
        self._readers = [0] * len(sizes)
        for call in layout.calls:
            for tensor in call.inputs:
                self._readers[tensor] += 1
        for tensor in layout.outputs:
            self._readers[tensor] += 1

    def forward(self) -> None:
        for tensor in self._layout.inputs:
            # Held by the caller, who feeds the data, until the step ends.
            self._buffers[tensor] = self.heap.new(
                self._sizes[tensor], 1 + self._readers[tensor], self._nobody
            )
        for call_index, call in enumerate(self._layout.calls):
            self._call(call_index, call.inputs, call.outputs)

    def _call(self, call_index: int, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        effect = self._steps[call_index].effect
        if self._has_backward(call_index):
            for each in effect.keeps_inputs:
                if each < len(inputs):
                    self._keep(call_index, self._buffers[inputs[each]])
        shared = self._shared_with(effect, inputs, outputs)
        for tensor in outputs:
            if shared is None:
                self._buffers[tensor] = self.heap.new(
                    self._sizes[tensor], self._readers[tensor], call_index
                )
            else:
                self._buffers[tensor] = shared
                self.heap.need(shared, self._readers[tensor])
        self.heap.work(_Work(call_index, effect.forward_bytes))
        if self._has_backward(call_index):
            self._keep_outputs(call_index, outputs)
        for tensor in inputs:
            self.heap.release(self._buffers[tensor])

    def _keep_outputs(self, call_index: int, outputs: Sequence[int]) -> None:
        step = self._steps[call_index]
        for tensor in outputs if step.effect.keeps_outputs else ():
            self._keep(call_index, self._buffers[tensor])
        extra = step.effect.extra_bytes + step.copy_bytes
        if extra:
            self._activations[call_index].append(self.heap.new(extra, 1, call_index))

    def _keep(self, call_index: int, buffer: int) -> None:
        self.heap.need(buffer)
        self._activations[call_index].append(buffer)

    def _shared_with(
        self, effect: Effect, inputs: Sequence[int], outputs: Sequence[int]
    ) -> int | None:
        """The buffer of an input that the output takes over; None if the output needs its own."""
        if not inputs or len(outputs) != 1:
            return None
        if effect.is_view:
            return self._buffers[inputs[0]]
        for tensor in inputs if effect.is_in_place else ():
            buffer = self._buffers[tensor]
            is_last = self.heap.needed[buffer] == inputs.count(tensor)
            if is_last and self.heap.sizes[buffer] == self._sizes[outputs[0]]:
                return buffer
        return None

    def _has_backward(self, call_index: int) -> bool:
        return any(self._needs[tensor] for tensor in self._layout.calls[call_index].outputs)

    def activation_bytes_by_call(self) -> tuple[int, ...]:
        found = [0] * len(self._activations)
        for buffer, call_index in self._keepers().items():
            found[call_index] += self.heap.sizes[buffer]
        return tuple(found)

    def part_by_call(self) -> tuple[PeakPart, ...]:
        """Part of each call at the peak, and last the part that belongs to no call."""
        keepers = self._keepers()
        found = [PeakPart() for _ in range(self._nobody + 1)]
        for buffer in self.heap.live_at_peak():
            size = self.heap.sizes[buffer]
            keeper = keepers.get(buffer)
            caller = self.heap.callers[buffer] if keeper is None else keeper
            found[caller] += PeakPart(work=size) if keeper is None else PeakPart(kept=size)
        for each in self.heap.work_at_peak:
            gradient = min(each.n_bytes, each.gradient_bytes)
            found[each.call] += PeakPart(gradient, work=each.n_bytes - gradient)
        return tuple(found)

    def _keepers(self) -> dict[int, int]:
        """First call that keeps each buffer for the backward pass."""
        found: dict[int, int] = {}
        for call_index, buffers in enumerate(self._activations):
            for each in buffers:
                found.setdefault(each, call_index)
        return found

    def backward(self) -> None:
        for tensor in self._layout.outputs if self._layout.calls else ():
            # The loss writes its gradient where the output was.
            self.heap.release(self._buffers[tensor])
            if self._needs[tensor]:
                self._gradients[tensor] = self.heap.new(self._sizes[tensor], 1, self._nobody)
        updated = _Work(self._nobody, 0)
        for call_index in reversed(range(len(self._layout.calls))):
            if self._has_backward(call_index):
                updated = self._call_backward(call_index, updated)

    def _call_backward(self, call_index: int, updated: _Work) -> _Work:
        """Compute one gradient beside the update by the last; return the workspace of its update.

        A gradient is applied with its temporaries while the next one is computed.
        """
        call = self._layout.calls[call_index]
        step = self._steps[call_index]
        gradients = [self._gradients.pop(each) for each in call.outputs if each in self._gradients]
        if not gradients:
            self._release(call_index)
            return updated
        alias = gradients[0] if not step.effect.copies_gradient else None
        for tensor in dict.fromkeys(call.inputs):
            if self._needs[tensor]:
                self._add_gradient(call_index, tensor, alias)
        n_bytes = step.effect.backward_bytes + step.update_bytes
        gradient = min(step.gradient_bytes, step.update_bytes)
        self.heap.work(_Work(call_index, n_bytes, gradient), updated)
        for buffer in gradients:
            self.heap.release(buffer)
        self._release(call_index)
        if not step.gradient_bytes:
            return updated
        return _Work(call_index, step.applied_bytes, step.gradient_bytes)

    def _add_gradient(self, call_index: int, tensor: int, alias: int | None) -> None:
        if alias is not None and self.heap.sizes[alias] == self._sizes[tensor]:
            new = alias
            self.heap.need(alias)
        else:
            new = self.heap.new(self._sizes[tensor], 1, call_index)
        before = self._gradients.get(tensor)
        if before is not None:
            total = self.heap.new(self._sizes[tensor], 1, call_index)
            self.heap.release(before)
            self.heap.release(new)
            new = total
        self._gradients[tensor] = new

    def _release(self, call_index: int) -> None:
        for buffer in self._activations[call_index]:
            self.heap.release(buffer)
