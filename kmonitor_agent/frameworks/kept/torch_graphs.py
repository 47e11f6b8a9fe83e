# pyright: basic
"""Graphs that tensors of PyTorch keep for gradients: number of operations, and memory they save.

`total = total + loss` keeps the graph of each step, with the tensors that its operations saved, by
one small tensor. A graph is read from its newest operation back to the one that was the newest at
the search before. No backward pass and no hook runs: PyTorch's own descriptors are read, and of
what a script's hooks packed only that it is there.
"""

import heapq
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from types import GetSetDescriptorType, MethodDescriptorType
from typing import Any, Final

from kmonitor_agent.frameworks.script_values import (
    class_attribute,
    class_bases,
    each_of,
    instance_dict,
    own_attributes,
)

GRAPH: Final = "torch.autograd.graph"
"""Kind of the operations in a graph."""

_MOST_READ: Final = 1000
_MOST_OF_ONE: Final = 400
"""Maximum number of operations that are read with what they saved: in a search, of a graph."""

_MOST_FOLLOWED: Final = 10_000
"""Maximum number of operations that are followed back in a search: 20 ms. A sum of losses takes
one or two for each step."""

_MOST_SWEPT: Final = 2000
"""Maximum number of operations of all kinds among which those of the search before are sought."""

_OPERATION_BYTES: Final = 500
"""Approximate size of an operation without the tensors it saved.

Source: RSS of 126 000 operations of linear layers after their backward pass, PyTorch 2.14.
"""

_OF_LEAVES: Final = 2**64 - 1
"""Number of all operations that add gradients to a parameter."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Graph of a tensor.

    Attributes:
        newest: Number of its newest operation; PyTorch counts them in each thread.
        count: Number of operations; of a large graph those read at the first search, and all that
            were added since.
        n_bytes: Size with what the operations saved, bytes; None if PyTorch does not report them.
    """

    newest: int
    count: int
    n_bytes: float | None


Graphs = dict[str, list[Graph]]
"""Graphs by the location of their tensors, in the order in which they were found."""


@dataclass(frozen=True, slots=True)
class _Slots:
    """PyTorch's own descriptors of a class of operations.

    Attributes:
        number: Returns the number that PyTorch gave to an operation.
        inputs: Operations that an operation takes its inputs from, as pairs.
        variable: Parameter to which an operation adds a gradient.
        saved: Tensors that an operation saved.
    """

    number: Any
    inputs: Any
    variable: Any
    saved: tuple[Any, ...]


def _slots_of(kind: type) -> _Slots:
    saved = [
        slot
        for base in class_bases(kind)
        for name, slot in own_attributes(base).items()
        if name.startswith("_raw_saved_") and type(slot) is GetSetDescriptorType
    ]
    number = class_attribute(kind, "_sequence_nr")
    inputs = class_attribute(kind, "next_functions")
    variable = class_attribute(kind, "variable")
    return _Slots(
        number if type(number) is MethodDescriptorType else None,
        inputs if type(inputs) is GetSetDescriptorType else None,
        variable if type(variable) is GetSetDescriptorType else None,
        tuple(saved),
    )


class GraphReader:
    """Reads graphs in one search.

    Attributes:
        n_read: Number of operations that were read.
    """

    def __init__(self) -> None:
        self.n_read = 0
        self._slots: dict[int, _Slots] = {}
        self._n_followed = 0
        self._n_swept = 0
        autograd = instance_dict(sys.modules.get("torch._C._autograd"))
        self._saved_tensor = autograd.get("SavedTensor")
        self._data = own_attributes(self._saved_tensor).get("data") if self._saved_tensor else None

    def graph_of(self, tensor: Any, before: Graph | None = None) -> Graph | None:
        """Graph of a tensor; None if it has none, or too many were read.

        Args:
            tensor: A tensor of PyTorch's own class.
            before: Graph of the tensor that was in this place at the search before.
        """
        head = tensor.grad_fn
        if before is not None and self._number(head) == before.newest:
            return before
        if before is not None and self._n_followed >= _MOST_FOLLOWED:
            return None
        if before is None or not self._contains(head, before.newest):
            return self.added_to(tensor)
        added = self.added_to(tensor, before.newest)
        if added is None:
            return None
        is_known = before.n_bytes is not None and added.n_bytes is not None
        n_bytes = (before.n_bytes or 0.0) + (added.n_bytes or 0.0) if is_known else None
        return Graph(added.newest, before.count + added.count, n_bytes)

    def number_of(self, tensor: Any) -> int:
        """Number of the newest operation of a tensor's graph."""
        number = self._number(tensor.grad_fn)
        return -1 if number is None else number

    def added_to(self, tensor: Any, after: int = -1) -> Graph | None:
        """Operations of a tensor's graph whose numbers are above `after`; None as above."""
        head = tensor.grad_fn
        newest = self._number(head)
        if newest is None or newest == _OF_LEAVES or self.n_read >= _MOST_READ:
            return None
        part = self._newest_part(head, after)
        is_all = after < 0 or part.count < _MOST_OF_ONE
        # Operations that were not read were added at the same rate.
        scale = 1.0 if is_all else (newest - after) / max(1, newest - part.oldest + 1)
        return part.graph(newest, max(1.0, scale))

    def _contains(self, head: Any, number: int) -> bool:
        """True if an operation is in a graph; of joined graphs the oldest is followed first."""
        if self._leads_to(head, number):
            return True
        for found, _, _ in self._operations(head, number, newest_first=False):
            self._n_swept += 1
            if found == number or self._n_swept >= _MOST_SWEPT:
                return found == number
        return False

    def _leads_to(self, head: Any, number: int) -> bool:
        """True if an operation is found by steps that repeat, or these do not end.

        A sum that grows takes one from the newest addition to the one before it. The operations of
        what is added, which may be hundreds, are read for the first such step only.
        """
        node = head
        steps: dict[int, _Step] = {}  # by the class that they begin at
        while self._number(node) != number:
            if self._n_followed >= _MOST_FOLLOWED:
                return True
            self._n_followed += 1
            kind: Any = type(node)
            then = self._after(node, steps.get(id(kind)), number)
            if then is None:
                step = self._step_from(node, number)
                if step is None:
                    return False
                steps[id(kind)] = step
                then = self._after(node, step, number)
            node = then
        return True

    def _after(self, node: Any, step: "_Step | None", least: int) -> Any:
        """Operation that a step leads to; None if it does not lead as far back as before."""
        for index in () if step is None else step.inputs:
            inputs = self._inputs(node)
            number = self._number(inputs[index]) if index < len(inputs) else None
            if number is None or not least <= number < _OF_LEAVES:
                return None
            node = inputs[index]
            if number == least:
                return node
        return node if step is not None and step.kind == id(type(node)) else None

    def _step_from(self, head: Any, least: int) -> "_Step | None":
        """Step to the newest operation through which all earlier ones are reached."""
        seen: set[int] = set()
        waiting: list[tuple[int, tuple[Any, ...], Any]] = [(0, (), head)]
        while waiting and self._n_followed < _MOST_FOLLOWED:
            _, way, node = heapq.heappop(waiting)
            if way and not waiting:
                return _Step.along(way, node)
            self._n_followed += 1
            for index, each in enumerate(self._inputs(node)):
                number = self._number(each)
                if number is not None and least <= number < _OF_LEAVES and number not in seen:
                    seen.add(number)
                    heapq.heappush(waiting, (-number, (index, way), each))
        return None

    def _newest_part(self, head: Any, after: int) -> "_Part":
        """Operations with numbers above `after`, as many as may be read."""
        part = _Part()
        newest = self._operations(head, after + 1, newest_first=True)
        for number, node, inputs in islice(newest, _MOST_OF_ONE):
            part.count += 1
            part.oldest = number
            self._add_saved(part, node, inputs)
        self.n_read += part.count
        return part

    def _add_saved(self, part: "_Part", node: Any, inputs: list[Any]) -> None:
        for each in inputs:
            slot = self._of(each).variable
            if slot is not None:
                part.parameters.add(_memory_of(slot.__get__(each))[0])
        for saved in self._saved_by(node):
            part.is_known = self._data is not None
            value = None if self._data is None else self._data.__get__(saved)
            if value is not None:
                memory, size = _memory_of(value)
                part.saved[memory] = size

    def _operations(
        self, head: Any, least: int, *, newest_first: bool
    ) -> Iterator[tuple[int, Any, list[Any]]]:
        """Operations from a number on, in their order, with their numbers and their inputs.

        Those that add gradients to parameters are inputs only.
        """
        sign = -1 if newest_first else 1
        seen: set[int] = set()
        waiting: list[tuple[int, int, int, Any]] = [(0, 0, self._number(head) or 0, head)]
        while waiting:
            *_, number, node = heapq.heappop(waiting)
            inputs = self._inputs(node)
            yield number, node, inputs
            for each in inputs:
                number = self._number(each)
                if number is not None and least <= number < _OF_LEAVES and number not in seen:
                    seen.add(number)
                    heapq.heappush(waiting, (sign * number, len(seen), number, each))

    def _of(self, node: Any) -> _Slots:
        # By identity, since a metaclass may hash and compare; the operation keeps its class.
        kind: Any = type(node)
        known = self._slots.get(id(kind))
        if known is None:
            known = self._slots[id(kind)] = _slots_of(kind)
        return known

    def _number(self, node: Any) -> int | None:
        read = self._of(node).number
        return None if read is None else read(node)

    def _inputs(self, node: Any) -> list[Any]:
        slot = self._of(node).inputs
        return [] if slot is None else [each for each, _ in slot.__get__(node) if each is not None]

    def _saved_by(self, node: Any) -> list[Any]:
        """Tensors that an operation saved, unless they were released, as by a backward pass."""
        found: list[Any] = []
        for slot in self._of(node).saved:
            try:
                found += each_of(slot.__get__(node))
            except RuntimeError:  # released
                continue
        return [each for each in found if type(each) is self._saved_tensor]


@dataclass(frozen=True, slots=True)
class _Step:
    """Way from an operation to an earlier one.

    Attributes:
        inputs: Index of the input that is followed, for each operation on the way.
        kind: Identity of the class of the operation that it leads to.
    """

    inputs: tuple[int, ...]
    kind: int

    @classmethod
    def along(cls, way: tuple[Any, ...], end: Any) -> "_Step":
        """Return the step to an operation; `way` is its last index and the way before that."""
        inputs: list[int] = []
        while way:
            index, way = way
            inputs.append(index)
        return cls(tuple(reversed(inputs)), id(type(end)))


@dataclass(slots=True)
class _Part:
    """Newest operations of a graph.

    Attributes:
        count: Number of operations.
        oldest: Number of the oldest one.
        saved: Sizes of the tensors they saved, by memory.
        parameters: Memory of parameters, which live without the graph.
        is_known: False if PyTorch does not report what was saved.
    """

    count: int = 0
    oldest: int = 0
    saved: dict[int, int] = field(default_factory=dict)
    parameters: set[int] = field(default_factory=set)
    is_known: bool = True

    def graph(self, newest: int, scale: float = 1.0) -> Graph:
        own = (n for memory, n in self.saved.items() if memory not in self.parameters)
        n_bytes = scale * (self.count * _OPERATION_BYTES + sum(own))
        return Graph(newest, round(scale * self.count), n_bytes if self.is_known else None)


def _memory_of(tensor: Any) -> tuple[int, int]:
    """Key of a tensor's memory, and its size, bytes; 0 for what hooks of the script packed."""
    torch: Any = sys.modules["torch"]
    kind: Any = type(tensor)
    if kind is not torch.Tensor and kind is not torch.nn.Parameter:
        return id(tensor), 0
    storage = tensor.untyped_storage()
    return storage._cdata, storage.nbytes()  # noqa: SLF001 - its address; no other name for it
