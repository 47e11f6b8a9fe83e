"""Simulation of a traced training step: plays its operations on a heap and reports the peak.

`Simulation` plays a step several times, since no two runs of one step use the same memory. A play
(`play_in_turn`, `play_by_threads`) determines the order of operations; `HeapEffects` applies the
effects of an operation on the heap at its beginning and end.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from kmonitor.memory.simulation import operation_kinds
from kmonitor.memory.simulation.graph import (
    MemoryUse,
    PreparedGraph,
    PreparedGraphCache,
    PreparedOperation,
)
from kmonitor.memory.simulation.heap import HANDLES, NOTHING, SimulatedHeap, TensorList, Value
from kmonitor_agent.wire.messages.step_program import StepProgram

PLAYS: Final = 5
_FETCHING: Final = 2
"""Further plays in which the next step's data are created during each step, as by a prefetching
data set: they lie between other tensors, so that the allocator's pieces differ too."""

_STEPS: Final = 4
"""Steps, without the first, that represent all: a training's peak is that of its highest step."""

_OPERATIONS: Final = 40_000
"""Most operations played for one batch: half a second, or three processes of a longer step."""

_PROCESSES: Final = 3
"""Processes for a long step, all on one heap, so that each needs no first step of its own."""


@dataclass(frozen=True, slots=True)
class SimulatedPeak:
    """Peak of a step for one batch size, bytes.

    Attributes:
        peak_bytes: Average over several plays of the highest of some steps, for data in whole
            batches.
        lowest_bytes: Lowest of these plays, of one with a single queue, and of one for data of
            unknown batch size.
        highest_bytes: Highest of these plays, of the one for unknown batch size, and of some in
            which the next batch is created meanwhile.
    """

    peak_bytes: int
    lowest_bytes: int
    highest_bytes: int


class Simulation:
    """Plays one program for any batch, and caches the peaks."""

    def __init__(
        self,
        program: StepProgram,
        unseen_below_bytes: int = 0,
        *,
        plays: int = PLAYS,
        cache: PreparedGraphCache | None = None,
    ) -> None:
        """`unseen_below_bytes`: smaller tensors are not counted, as by a CPU's allocator.

        `cache`: graphs of the program, if shared with another simulation.
        """
        self._plays = plays
        self.program = program
        self._unseen = unseen_below_bytes
        self._graphs = cache or PreparedGraphCache(program)
        self._outcomes: dict[int, SimulatedPeak] = {}

    def peak(self, batch: int) -> SimulatedPeak:
        if batch not in self._outcomes:
            self._outcomes[batch] = self._played(batch)
        return self._outcomes[batch]

    def activation_bytes_by_layer(self, batch: int) -> dict[str, int]:
        """Largest bytes of forward results that backward operations need, by layer."""
        graph = self._graphs.of_fixed_batch(batch)
        heap = SimulatedHeap(follows=True)
        play_in_turn(graph, HeapEffects(heap, _variables(self.program, heap)))
        found: dict[str, int] = {}
        for owner, n_bytes in heap.forward_bytes_at_peak():
            name = self.program.layers[owner // 4]
            found[name] = found.get(name, 0) + n_bytes
        return found

    def bytes_at_peak(self, batch: int) -> list[tuple[str, int, int]]:
        """(layer, phase, bytes) of each tensor at the peak of one step; empty name: no layer."""
        heap = SimulatedHeap(self._unseen, follows=True)
        effects = HeapEffects(heap, _variables(self.program, heap))
        graph = self._graphs.of_fixed_batch(batch)
        chance = Chance(0, graph.operations)
        for _ in range(2):  # the first one finds the heap as no other does
            heap.forget_peak()
            play_by_threads(graph, effects, chance)
        names = self.program.layers
        return [
            (names[owner // 4] if owner >= 0 else "", owner % 4, n_bytes)
            for owner, n_bytes in heap.bytes_at_peak()
        ]

    def _played(self, batch: int) -> SimulatedPeak:
        graph = self._graphs.of_fixed_batch(batch)
        plays = _OPERATIONS // (_STEPS * max(1, len(graph.operations)))
        if self._plays == 1:
            one = max(self._peaks(graph, [Chance(0, graph.operations)] * 2))
            return SimulatedPeak(one, one, one)
        if plays <= 1:
            return self._played_long(graph, steps=1 + plays)
        peaks = [self._peaks(graph, [Chance(seed, graph.operations)] * _STEPS)
                 for seed in range(min(self._plays, plays))]  # fmt: skip
        fetching = [self._peaks(graph, [Chance(seed, graph.operations)] * _STEPS, fetches=True)
                    for seed in range(min(_FETCHING, plays - self._plays))]  # fmt: skip
        others = self._peaks(graph, [None] * 2)
        open_batch = self._graphs.of_open_batch(batch)
        others += self._peaks(open_batch, [Chance(0, open_batch.operations)] * 2)
        highest = [max(each) for each in peaks + fetching]
        expected = sum(highest[: len(peaks)]) // len(peaks)
        return SimulatedPeak(expected, min(highest + others), max(highest + others[1:]))

    def _played_long(self, graph: PreparedGraph, steps: int) -> SimulatedPeak:
        chances = [Chance(seed, graph.operations) for seed in range(_PROCESSES)]
        in_turn = [each for each in chances for _ in range(steps)]
        *peaks, in_queue = self._peaks(graph, [chances[-1], *in_turn, None])
        highest = [max(peaks[at : at + steps]) for at in range(0, len(peaks), steps)]
        expected = sum(highest) // len(highest)
        return SimulatedPeak(expected, min(*highest, in_queue), max(*highest, in_queue))

    def _peaks(
        self, graph: PreparedGraph, chances: "Sequence[Chance | None]", *, fetches: bool = False
    ) -> list[int]:
        """Peaks of consecutive steps, without the first; a chance of None plays a single queue."""
        heap = SimulatedHeap(self._unseen)
        effects = HeapEffects(heap, _variables(self.program, heap))
        found = list[int]()
        for step, chance in enumerate(chances):
            heap.forget_peak()
            if chance is None:
                play_in_turn(graph, effects)
            else:
                play_by_threads(graph, effects, chance, fetches=fetches)
            if step:  # the first one finds the heap as no other does
                found.append(heap.peak_bytes)
        return found


def _variables(program: StepProgram, heap: SimulatedHeap) -> list[int]:
    """Create the variables as Keras does, where drawn values are scaled and moved."""
    buffers = [NOTHING] * len(program.variables)
    order = dict(program.created_variables)
    order |= {index: False for index in range(len(buffers)) if index not in order}
    for index, is_drawn in order.items():
        size = program.variables[index]
        steps = [heap.new(size, 1, -1) for _ in range(2)] if is_drawn else []
        buffers[index] = heap.new(size, 1, -1)
        for each in reversed(steps):
            heap.add_readers(each, -1)
    return buffers


_Begins = Callable[[PreparedOperation, list[Value], list[int]], None]


class HeapEffects:
    """Effects of operations on the values and variables of a step on a heap."""

    def __init__(self, heap: SimulatedHeap, variables: list[int]) -> None:
        self.heap = heap
        self._variables = variables
        self._constants: dict[int, int] = {}
        self._data: dict[int, int] = {}
        self._next_data: dict[int, int] = {}
        self._begins: dict[MemoryUse, _Begins] = {
            MemoryUse.NEW: self._allocate_outputs,
            MemoryUse.VIEW: self._view,
            MemoryUse.REUSE: self._reuse,
            MemoryUse.READ: self._read,
            MemoryUse.ASSIGN: self._write,
            MemoryUse.UPDATE: self._write,
            MemoryUse.HANDLE: self._name,
            MemoryUse.GIVEN: self._feed,
            MemoryUse.LIST: self._list,
            MemoryUse.CONSTANT: self._keep_constant,
        }

    def begin(self, operation: PreparedOperation, values: list[Value], readers: list[int]) -> None:
        """Allocate the workspace of an operation, and assign its outputs."""
        begins = self._begins.get(operation.memory_use)
        if begins is not None:
            begins(operation, values, readers)

    def end(self, operation: PreparedOperation, values: list[Value], readers: list[int]) -> None:
        """Free the inputs of an operation, and outputs without readers."""
        for value in operation.inputs:
            self.release_reader(values[value])
        for each in operation.workspace_buffers:
            self.heap.add_readers(each, -1)
        operation.workspace_buffers = []
        if operation.memory_use is MemoryUse.NEW or operation.memory_use is MemoryUse.REUSE:
            for value, _ in operation.outputs:
                if not readers[value]:
                    self.add_readers(values[value], 0)

    def fetch(self, inputs: Iterable[PreparedOperation]) -> None:
        """Create the next step's data, as a data set does while this step still runs."""
        for ready in inputs:
            value, size = ready.outputs[0]
            self._next_data[value] = self.heap.new(size, 1, ready.owner)

    def end_step(self) -> None:
        """Let the next step begin with the data fetched for it."""
        self._data, self._next_data = self._next_data, {}

    def add_readers(self, value: Value, more: int) -> None:
        """Change the number of future readers of a value."""
        if isinstance(value, TensorList):
            value.references += more
            if value.references <= 0:
                for buffer in value.all_buffers():
                    self.heap.add_readers(buffer, -1)
                value.buffers = []
                value.zeros = []
        elif value >= 0:
            self.heap.add_readers(value, more)

    def release_reader(self, value: Value) -> None:
        """Remove one reader that has read a value."""
        self.add_readers(value, -1)

    def _allocate_outputs(
        self, operation: PreparedOperation, values: list[Value], readers: list[int]
    ) -> None:
        operation.workspace_buffers = [
            self.heap.new(each, 1, operation.owner) for each in operation.workspace
        ]
        for value, size in operation.outputs:
            values[value] = self.heap.new(size, readers[value], operation.owner)
        if operation.beside:
            self.heap.tie(
                self.heap.new(operation.beside, 1, operation.owner),
                values[operation.outputs[0][0]],
            )

    def _view(self, operation: PreparedOperation, values: list[Value], readers: list[int]) -> None:
        for number, (value, _) in enumerate(operation.outputs):
            seen = values[operation.inputs[min(number, len(operation.inputs) - 1)]]
            values[value] = seen
            if readers[value]:
                self.add_readers(seen, readers[value])

    def _reuse(
        self, operation: PreparedOperation, values: list[Value], readers: list[int]
    ) -> None:
        for value, size in operation.outputs:
            seen = self._reusable(operation, values, size)
            if seen == NOTHING:
                values[value] = self.heap.new(size, readers[value], operation.owner)
            else:
                values[value] = seen
                self.heap.hand_over(seen, operation.owner, readers[value])

    def _reusable(self, operation: PreparedOperation, values: list[Value], size: int) -> int:
        heap = self.heap
        for read in operation.inputs:
            seen = values[read]
            if (isinstance(seen, int) and seen >= 0 and heap.references[seen] == 1
                    and heap.bytes[seen] == size):  # fmt: skip
                return seen
        return NOTHING

    def _read(self, operation: PreparedOperation, values: list[Value], readers: list[int]) -> None:
        variable = self._variable(values[operation.inputs[0]])
        value, _ = operation.outputs[0]
        values[value] = NOTHING if variable is None else self._variables[variable]
        self.add_readers(values[value], readers[value])

    def _name(self, operation: PreparedOperation, values: list[Value], readers: list[int]) -> None:
        del readers
        values[operation.outputs[0][0]] = HANDLES - operation.of.variable

    def _feed(self, operation: PreparedOperation, values: list[Value], readers: list[int]) -> None:
        """Add a fed tensor, which the caller keeps for the whole step."""
        value, size = operation.outputs[0]
        if value in self._data:
            values[value] = self._data[value]
            self.add_readers(values[value], readers[value])
        else:
            values[value] = self.heap.new(size, readers[value] + 1, operation.owner)

    def _keep_constant(
        self, operation: PreparedOperation, values: list[Value], readers: list[int]
    ) -> None:
        """Add a constant, which is created once and stays."""
        value, size = operation.outputs[0] if operation.outputs else (0, 0)
        if size:
            if value not in self._constants:
                self._constants[value] = self.heap.new(size, 1, NOTHING)
            values[value] = self._constants[value]
            self.add_readers(values[value], readers[value])

    def _write(
        self, operation: PreparedOperation, values: list[Value], readers: list[int]
    ) -> None:
        del readers
        variable = self._variable(values[operation.inputs[0]])
        if variable is None:
            return
        old = self._variables[variable]
        heap = self.heap
        if operation.memory_use is MemoryUse.ASSIGN:
            new = values[operation.inputs[1]]
            if old >= 0 and isinstance(new, int) and new >= 0:
                heap.hand_over(new, heap.owners[old], 1)
                self._variables[variable] = new
                heap.add_readers(old, -1)
        elif old >= 0 and heap.references[old] > 1:
            self._variables[variable] = heap.new(heap.bytes[old], 1, heap.owners[old])
            heap.add_readers(old, -1)

    def _variable(self, value: Value) -> int | None:
        return HANDLES - value if isinstance(value, int) and value <= HANDLES else None

    def _list(self, operation: PreparedOperation, values: list[Value], readers: list[int]) -> None:
        kind = operation.kind
        value = operation.outputs[0][0]
        if kind in operation_kinds.LIST_RESERVES:
            values[value] = TensorList(readers[value])
        elif kind in operation_kinds.LIST_FILLS:
            values[value] = filled = TensorList(readers[value])
            source = operation.inputs[0]
            size = self._size_of(values[source])
            n_items = max(1, operation.of.trips or 1)
            if size // n_items >= 1:
                filled.buffers = [self.heap.new(size // n_items, 1, operation.owner)
                                  for _ in range(n_items)]  # fmt: skip
        elif kind in operation_kinds.LIST_ZEROS:
            values[value] = empty = TensorList(readers[value])
            given = values[operation.inputs[0]]
            if isinstance(given, TensorList):
                sizes = [self._size_of(each) for each in given.all_buffers()]
                empty.zeros = [self.heap.new(each, 1, operation.owner) for each in sizes if each]
        else:
            self._change_list(operation, values, readers)

    def _change_list(
        self, operation: PreparedOperation, values: list[Value], readers: list[int]
    ) -> None:
        kind = operation.kind
        value = operation.outputs[0][0]
        tensor_list = values[operation.inputs[0]]
        if not isinstance(tensor_list, TensorList):
            self._allocate_outputs(operation, values, readers)
            return
        if kind in operation_kinds.LIST_READS:
            self._read_list_item(operation, tensor_list, values, readers)
            return
        own = self._own(tensor_list)
        values[value] = own
        self.add_readers(own, readers[value])
        if kind in operation_kinds.LIST_TAKES:
            self._put(own, values[operation.inputs[-1]], operation)
            return
        popped, size = operation.outputs[1]
        if own.buffers:
            buffer = own.buffers.pop()
            self.add_readers(buffer, readers[popped] - 1)
            values[popped] = buffer
        else:
            values[popped] = self.heap.new(size, readers[popped], operation.owner)

    def _own(self, tensor_list: TensorList) -> TensorList:
        """The list itself if it has no other reader, else a copy that shares its elements."""
        if tensor_list.references == 1:
            return tensor_list
        copy = TensorList()
        copy.buffers = list(tensor_list.buffers)
        copy.zeros = list(tensor_list.zeros)
        for buffer in copy.all_buffers():
            self.add_readers(buffer, 1)
        return copy

    def _put(self, tensor_list: TensorList, value: Value, operation: PreparedOperation) -> None:
        for _ in range(min(1 + (operation.of.trips or 0), len(tensor_list.zeros))):
            self.add_readers(tensor_list.zeros.pop(), -1)
        if isinstance(value, TensorList) or value < 0:
            return
        self.add_readers(value, 1)
        # The same tensor in each turn, or in several lists, is one.
        is_same = bool(tensor_list.buffers) and tensor_list.buffers[-1] == value
        tensor_list.buffers.append(value)
        if is_same or self.heap.has_tied(value):
            return
        # Backward turns take elements out ahead of their gradients. So those of turns that were
        # left out go when the element itself does, not when it leaves the list.
        for _ in range(operation.of.trips or 0):
            self.heap.tie(self.heap.new(self.heap.bytes[value], 1, operation.owner), value)

    def _read_list_item(
        self,
        operation: PreparedOperation,
        tensor_list: TensorList,
        values: list[Value],
        readers: list[int],
    ) -> None:
        value, size = operation.outputs[0]
        if tensor_list.buffers:
            values[value] = tensor_list.buffers[tensor_list.turn % len(tensor_list.buffers)]
            tensor_list.turn += 1
            self.add_readers(values[value], readers[value])
        else:
            values[value] = self.heap.new(size, readers[value], operation.owner)

    def _size_of(self, value: Value) -> int:
        return self.heap.bytes[value] if isinstance(value, int) and value >= 0 else 0


def play_in_turn(graph: PreparedGraph, effects: HeapEffects) -> None:
    """Play a step with one queue, first in first out, as if all operations were cheap."""
    run = _Run(graph, effects)
    queue = deque(run.first())
    while queue:
        index = queue.popleft()
        run.begin(index)
        queue.extend(run.end(index))
    run.finish()


_INLINE_EDGES: Final = 8
"""Largest set of edges that is no hash table. Source: `edgeset.h`."""

_FULL: Final = 0.8
"""Load factor of a table, whose number of slots is a power of two. Source: `flatrep.h`."""


class Chance:
    """Random effects in one process: durations of operations, and the order of ready operations.

    The order is the same in all steps of a process: TensorFlow keeps an operation's readers in a
    set. A large set is a hash table of their addresses in consecutive slots. So readers follow
    each other in order of creation, but the table begins anywhere among them.
    """

    def __init__(self, seed: int | None, operations: Sequence[PreparedOperation]) -> None:
        self.random = Random(seed)  # noqa: S311 - no secret
        self._operations = operations
        self._ranks = list(range(len(operations)))
        self.random.shuffle(self._ranks)
        self._first_readers: dict[int, int] = {}

    def arrange(self, index: int, ready: list[int]) -> None:
        """Sort the ready readers of an operation."""
        readers = self._operations[index].next
        if len(readers) <= _INLINE_EDGES:
            ready.sort(key=self._ranks.__getitem__)
            return
        if index not in self._first_readers:
            self._first_readers[index] = self._first_reader(readers)
        first = self._first_readers[index]
        ready.sort(key=lambda reader: (reader < first, reader))

    def _first_reader(self, readers: list[int]) -> int:
        n_slots = _INLINE_EDGES
        while len(readers) >= _FULL * n_slots:
            n_slots *= 2
        n_before_end = self.random.randrange(n_slots)
        return readers[n_before_end] if n_before_end < len(readers) else readers[0]


def play_by_threads(
    graph: PreparedGraph, effects: HeapEffects, chance: Chance, *, fetches: bool = False
) -> None:
    """Play a step with threads that take work from each other.

    `fetches`: True if the next step's data are created meanwhile, at a random moment.
    """
    run = _Run(graph, effects)
    fetched_at = chance.random.randrange(len(graph.operations)) if fetches else -1
    _Threads(run, chance, fetched_at).play()


class _Run:
    """State of one step: waiting operations, and the values so far."""

    def __init__(self, graph: PreparedGraph, effects: HeapEffects) -> None:
        self.operations = graph.operations
        self.effects = effects
        self._readers = graph.readers
        self._waits = [each.waits for each in graph.operations]
        self._values: list[Value] = [NOTHING] * len(graph.readers)
        self._results = graph.results

    def first(self) -> list[int]:
        """Operations that are ready at the beginning."""
        return [index for index, waits in enumerate(self._waits) if not waits]

    def begin(self, index: int) -> PreparedOperation:
        ready = self.operations[index]
        self.effects.begin(ready, self._values, self._readers)
        return ready

    def end(self, index: int) -> list[int]:
        """End an operation; return operations that are ready now, in order of creation."""
        ready = self.operations[index]
        self.effects.end(ready, self._values, self._readers)
        found: list[int] = []
        for after in ready.next:
            self._waits[after] -= 1
            if not self._waits[after]:
                found.append(after)
        return found

    def fetch(self) -> None:
        """Create the next step's data."""
        self.effects.fetch(self._inputs())

    def finish(self) -> None:
        """Free results and arguments."""
        for value in self._results:
            self.effects.release_reader(self._values[value])
        for ready in self._inputs():
            self.effects.release_reader(self._values[ready.outputs[0][0]])
        self.effects.end_step()

    def _inputs(self) -> list[PreparedOperation]:
        return [each for each in self.operations if each.memory_use is MemoryUse.GIVEN]


_THREADS: Final = 2

_JITTER: Final = 0.3
"""Standard deviation of the logarithm of an operation's duration."""


class _Threads:
    def __init__(self, run: _Run, chance: Chance, fetched_at: int) -> None:
        """`fetched_at`: operations begun before the next data are created; negative: never."""
        self._run = run
        self._chance = chance
        self._until_fetched = fetched_at
        self._shared = deque(run.first())
        self._own: list[deque[int]] = [deque() for _ in range(_THREADS)]
        self._inline: list[deque[int]] = [deque() for _ in range(_THREADS)]
        self._idle = set(range(_THREADS))
        self._ends: list[tuple[float, int, int]] = []

    def play(self) -> None:
        self._start_idle(0.0)
        while self._ends:
            now_s, thread, index = heapq.heappop(self._ends)
            found = self._run.end(index)
            self._chance.arrange(index, found)
            self._schedule(thread, found)
            self._idle.add(thread)
            self._start_idle(now_s)
        self._run.finish()

    def _start_idle(self, now_s: float) -> None:
        for thread in sorted(self._idle):
            index = self._next(thread)
            if index is not None:
                self._idle.remove(thread)
                if not self._until_fetched:
                    self._run.fetch()
                self._until_fetched -= 1
                seconds = self._run.begin(index).seconds
                seconds *= self._chance.random.lognormvariate(0.0, _JITTER)
                heapq.heappush(self._ends, (now_s + seconds, thread, index))

    def _next(self, thread: int) -> int | None:
        if self._inline[thread]:
            return self._inline[thread].popleft()
        if self._own[thread]:
            return self._own[thread].pop()
        if self._shared:
            return self._shared.popleft()
        for other in self._own:
            if other:
                return other.popleft()
        return None

    def _schedule(self, thread: int, found: list[int]) -> None:
        inline = self._inline[thread]
        last = None
        for index in found:
            if self._run.operations[index].is_cheap:
                inline.append(index)
            else:
                if last is not None:
                    self._own[thread].append(last)
                last = index
        if last is not None:
            (self._own[thread] if inline else inline).append(last)
