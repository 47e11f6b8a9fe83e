"""What one operation does to the heap when it begins and when it ends."""

from collections.abc import Callable, Iterable

from kmonitor.memory.simulation import operation_kinds
from kmonitor.memory.simulation.graph import Ready, Way
from kmonitor.memory.simulation.heap import HANDLES, NOTHING, Heap, Parts, Value

_Begins = Callable[[Ready, list[Value], list[int]], None]


class Effects:
    """Values and variables of a step on a heap."""

    def __init__(self, heap: Heap, variables: list[int]) -> None:
        self.heap = heap
        self._variables = variables
        self._constants: dict[int, int] = {}
        self._data: dict[int, int] = {}
        self._next_data: dict[int, int] = {}
        self._begins: dict[Way, _Begins] = {
            Way.NEW: self._fresh,
            Way.VIEW: self._view,
            Way.REUSE: self._reuse,
            Way.READ: self._read,
            Way.ASSIGN: self._write,
            Way.UPDATE: self._write,
            Way.HANDLE: self._name,
            Way.GIVEN: self._give,
            Way.LIST: self._list,
            Way.CONSTANT: self._keep,
        }

    def begin(self, ready: Ready, values: list[Value], readers: list[int]) -> None:
        """Take what it needs, and settle what its outputs are."""
        begins = self._begins.get(ready.way)
        if begins is not None:
            begins(ready, values, readers)

    def end(self, ready: Ready, values: list[Value], readers: list[int]) -> None:
        """Let go of what it read, and of what nobody will read."""
        for value in ready.inputs:
            self.release(values[value])
        for each in ready.taken:
            self.heap.hold(each, -1)
        ready.taken = []
        if ready.way is Way.NEW or ready.way is Way.REUSE:
            for value, _ in ready.outputs:
                if not readers[value]:
                    self.hold(values[value], 0)

    def fetch(self, given: Iterable[Ready]) -> None:
        """Make the next step's data, as a data set does while this one still runs."""
        for ready in given:
            value, size = ready.outputs[0]
            self._next_data[value] = self.heap.new(size, 1, ready.owner)

    def end_step(self) -> None:
        """Let the next one begin with what was fetched for it."""
        self._data, self._next_data = self._next_data, {}

    def hold(self, value: Value, more: int) -> None:
        """So many more, or fewer, will read a value."""
        if isinstance(value, Parts):
            value.references += more
            if value.references <= 0:
                for pair in value.buffers:
                    for buffer in pair:
                        self.heap.hold(buffer, -1)
                value.buffers = []
        elif value >= 0:
            self.heap.hold(value, more)

    def release(self, value: Value) -> None:
        """One that was to read it has."""
        self.hold(value, -1)

    def _fresh(self, ready: Ready, values: list[Value], readers: list[int]) -> None:
        ready.taken = [self.heap.new(each, 1, ready.owner) for each in ready.workspace]
        for value, size in ready.outputs:
            values[value] = self.heap.new(size, readers[value], ready.owner)
        if ready.beside:
            self.heap.tie(self.heap.new(ready.beside, 1, ready.owner), values[ready.outputs[0][0]])

    def _view(self, ready: Ready, values: list[Value], readers: list[int]) -> None:
        for number, (value, _) in enumerate(ready.outputs):
            seen = values[ready.inputs[min(number, len(ready.inputs) - 1)]]
            values[value] = seen
            if readers[value]:
                self.hold(seen, readers[value])

    def _reuse(self, ready: Ready, values: list[Value], readers: list[int]) -> None:
        for value, size in ready.outputs:
            seen = self._reusable(ready, values, size)
            if seen == NOTHING:
                values[value] = self.heap.new(size, readers[value], ready.owner)
            else:
                values[value] = seen
                self.heap.give(seen, ready.owner, readers[value])

    def _reusable(self, ready: Ready, values: list[Value], size: int) -> int:
        heap = self.heap
        for read in ready.inputs:
            seen = values[read]
            if (isinstance(seen, int) and seen >= 0 and heap.references[seen] == 1
                    and heap.bytes[seen] == size):  # fmt: skip
                return seen
        return NOTHING

    def _read(self, ready: Ready, values: list[Value], readers: list[int]) -> None:
        place = self._variable(values[ready.inputs[0]])
        value, _ = ready.outputs[0]
        values[value] = NOTHING if place is None else self._variables[place]
        self.hold(values[value], readers[value])

    def _name(self, ready: Ready, values: list[Value], readers: list[int]) -> None:
        del readers
        values[ready.outputs[0][0]] = HANDLES - ready.of.variable

    def _give(self, ready: Ready, values: list[Value], readers: list[int]) -> None:
        """Who gave a tensor keeps it for the whole step."""
        value, size = ready.outputs[0]
        if value in self._data:
            values[value] = self._data[value]
            self.hold(values[value], readers[value])
        else:
            values[value] = self.heap.new(size, readers[value] + 1, ready.owner)

    def _keep(self, ready: Ready, values: list[Value], readers: list[int]) -> None:
        """A constant is made once and stays."""
        value, size = ready.outputs[0] if ready.outputs else (0, 0)
        if size:
            if value not in self._constants:
                self._constants[value] = self.heap.new(size, 1, NOTHING)
            values[value] = self._constants[value]
            self.hold(values[value], readers[value])

    def _write(self, ready: Ready, values: list[Value], readers: list[int]) -> None:
        del readers
        place = self._variable(values[ready.inputs[0]])
        if place is None:
            return
        old, heap = self._variables[place], self.heap
        if ready.way is Way.ASSIGN:
            new = values[ready.inputs[1]]
            if old >= 0 and isinstance(new, int) and new >= 0:
                heap.hold(new, 1)
                self._variables[place] = new
                heap.hold(old, -1)
        elif old >= 0 and heap.references[old] > 1:
            self._variables[place] = heap.new(heap.bytes[old], 1, heap.owners[old])
            heap.hold(old, -1)

    def _variable(self, value: Value) -> int | None:
        return HANDLES - value if isinstance(value, int) and value <= HANDLES else None

    def _list(self, ready: Ready, values: list[Value], readers: list[int]) -> None:
        kind, value = ready.kind, ready.outputs[0][0]
        if kind in operation_kinds.LIST_RESERVES:
            values[value] = Parts(readers[value])
        elif kind in operation_kinds.LIST_FILLS:
            values[value] = filled = Parts(readers[value])
            source = ready.inputs[0]
            size = self._size_of(values[source])
            parts = max(1, ready.of.trips or 1)
            if size // parts >= 1:
                filled.buffers = [(self.heap.new(size // parts, 1, ready.owner), NOTHING)
                                  for _ in range(parts)]  # fmt: skip
        else:
            self._change_list(ready, values, readers)

    def _change_list(self, ready: Ready, values: list[Value], readers: list[int]) -> None:
        kind, value = ready.kind, ready.outputs[0][0]
        parts = values[ready.inputs[0]]
        if not isinstance(parts, Parts):
            self._fresh(ready, values, readers)
            return
        if kind in operation_kinds.LIST_LOOKS:
            self._look(ready, parts, values, readers)
            return
        own = self._own(parts)
        values[value] = own
        self.hold(own, readers[value])
        if kind in operation_kinds.LIST_TAKES:
            self._put(own, values[ready.inputs[-1]], ready)
            return
        popped, size = ready.outputs[1]
        if own.buffers:
            buffer, more = own.buffers.pop()
            self.heap.hold(more, -1)
            self.hold(buffer, readers[popped] - 1)
            values[popped] = buffer
        else:
            values[popped] = self.heap.new(size, readers[popped], ready.owner)

    def _own(self, parts: Parts) -> Parts:
        """The list itself where nobody else reads it, else a copy that shares its elements."""
        if parts.references == 1:
            return parts
        copy = Parts()
        copy.buffers = list(parts.buffers)
        for pair in copy.buffers:
            for buffer in pair:
                self.hold(buffer, 1)
        return copy

    def _put(self, parts: Parts, value: Value, ready: Ready) -> None:
        if isinstance(value, Parts) or value < 0:
            return
        self.hold(value, 1)
        # The same tensor in each turn is one.
        is_same = bool(parts.buffers) and parts.buffers[-1][0] == value
        size = 0 if is_same else self.heap.bytes[value] * (ready.of.trips or 0)
        parts.buffers.append((value, self.heap.new(size, 1, ready.owner) if size else NOTHING))

    def _look(self, ready: Ready, parts: Parts, values: list[Value], readers: list[int]) -> None:
        value, size = ready.outputs[0]
        if parts.buffers:
            values[value] = parts.buffers[0][0]
            self.hold(values[value], readers[value])
        else:
            values[value] = self.heap.new(size, readers[value], ready.owner)

    def _size_of(self, value: Value) -> int:
        return self.heap.bytes[value] if isinstance(value, int) and value >= 0 else 0
