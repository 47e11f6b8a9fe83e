# pyright: basic
"""Search for objects that a script keeps: contents of lists, dicts and attributes, by place.

It begins where a script keeps things (variables of its modules, and of its functions in all
threads, its callbacks, the model and the data of the fit) and where libraries keep them for it
(pyplot's figures, a notebook's `Out`, the last traceback, finalizers, handlers of `logging`,
TensorFlow's root graph), and follows attributes, containers, and what models are made of and
compiled with from there. Objects of Keras itself only lead to those of the script, and objects of
Python's library are containers or nothing. That takes 1 to 15 ms, where a walk over all objects of
the garbage collector takes 60 to 100 ms in a process with TensorFlow, and finds arrays too, which
the collector does not track. Objects kept elsewhere, in a cache of another library or by native
code, are not found.

No code of the script's runs, and no object is kept: the result is names and numbers.
"""

import dataclasses
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from types import FunctionType, TracebackType
from typing import Any, Final

from kmonitor_agent.call_stacks import SUSPENDABLE
from kmonitor_agent.frameworks.kept.buffers import bytes_of_buffer, bytes_of_number
from kmonitor_agent.frameworks.kept.containers import (
    Series,
    are_parts,
    capacity_of,
    container_name,
    length_of,
    newest_items,
    newest_keys,
    read_instead,
)
from kmonitor_agent.frameworks.kept.contents import held_beside
from kmonitor_agent.frameworks.kept.filled_arrays import ROWS, copied_pages, filled_rows
from kmonitor_agent.frameworks.kept.fixed_lengths import (
    ARRAY,
    Limits,
    Numbers,
    entries_of_array,
    filled_part,
)
from kmonitor_agent.frameworks.kept.kinds import kind_of_item, kind_of_key, most_common, named_kind
from kmonitor_agent.frameworks.kept.library_memory import counted_by_libraries
from kmonitor_agent.frameworks.kept.members import (
    FEWEST,
    HOLDS_VARIABLES,
    PASSES_ON,
    attributes_of,
    children_of,
    has_fields,
    holds_nothing,
    is_followed,
    is_record,
    larger_end,
    members_of,
)
from kmonitor_agent.frameworks.kept.places import (
    FINALIZERS,
    Owners,
    data_of_fits,
    iterated_by,
    library_places,
    name_of_call,
    named_variables,
    names_of_shell,
    variables_held,
    variables_of_calls,
)
from kmonitor_agent.frameworks.kept.series import (
    SUBCLASSES,
    FoundSeries,
    linked_objects,
    numbered_names,
    subclasses_of,
)
from kmonitor_agent.frameworks.kept.sizes import (
    COPIED_MAP,
    DATASET,
    KERAS_MODEL,
    TRACED_FUNCTION,
    WITH_GRAPH,
    ObjectSize,
    SizeReader,
    TreeSize,
    grows_in_place,
    hold_arrays,
    size_of,
    with_graph_bytes,
)
from kmonitor_agent.frameworks.kept.tasks import TASKS, pending_tasks
from kmonitor_agent.frameworks.kept.torch_graphs import GRAPH, Graphs
from kmonitor_agent.frameworks.model_parts import (
    all_layers_of,
    compiled_with,
    has_layers,
    variable_lists_of,
)
from kmonitor_agent.frameworks.script_files import MODULES, is_of_script
from kmonitor_agent.frameworks.script_values import (
    class_name,
    instance_dict,
    is_exactly,
    is_known_class,
    is_subclass,
)
from kmonitor_agent.wire.messages.readings import KeptObjects

MOST_LISTED: Final = 32
"""Maximum number of places in one count."""

LEAST_BYTES: Final = 2**20
"""Minimum size of a place to report, bytes; a smaller one explains nothing."""

_MOST_OBJECTS: Final = 4000
"""Maximum number of objects visited in one walk, those nearest to the script first."""

_NEAR_THE_FIT: Final = 1000
"""Number of these visits for callbacks and model, before the variables of all modules, which may
be many."""

_LATER_EACH: Final = 4
_MOST_LATER: Final = 1000
"""Tuples in containers may be many: each fourth visit is of one, of at most so many."""

_ALL_MEASURED: Final = 128
"""Maximum number of arrays of a container that are added up; of more, the newest represent all."""

_LONGEST: Final = 200
_NEWEST: Final = 17
"""Number of items whose trees are measured; several may belong together and share contents."""

_MOST_IN_TREES: Final = 1000

_LITTLE: Final = 2**16
"""Size of an item up to which parts of unknown size may be most of it, bytes."""

_WHOLE: Final = 0.9
"""Share of an item from which it is called by the one array that it holds."""


Place = tuple[str, str]
"""(Location of a container, name of its class)."""


class KeptObjectWalk:
    """One search; created, used and dropped on the thread that trains.

    Args:
        lengths_before: `lengths` of the search before: a place with as many items as then is not
            measured again, and not in the result, unless it is full: its items may grow. None: all
            places are measured, except full ones.
        is_late: Returns True when the search has to end.
        least_bytes: Minimum size of a place in the result, bytes.
        graphs_before: `graphs` of the search before.
        spaces_before: `spaces` of the search before.
        numbers_before: `numbers` of the search before.

    Attributes:
        lengths: Number of items in each place, without entries that are None as yet.
        spaces: Number of entries in each place where some are None, or were at the search before.
        numbers: Numbers beside each place that may be its limit.
        graphs: Graphs of PyTorch's tensors in each place.
        is_cut_short: True if time ran out, so that part of the result is missing.
        n_visited: Number of objects that were visited.
    """

    def __init__(
        self,
        lengths_before: Mapping[Place, int] | None = None,
        is_late: Callable[[], bool] = lambda: False,
        least_bytes: float = LEAST_BYTES,
        graphs_before: Graphs | None = None,
        spaces_before: Mapping[Place, int] | None = None,
        numbers_before: Numbers | None = None,
    ) -> None:
        self._least_bytes = least_bytes
        self.graphs: Graphs = {}
        self._graphs_before = graphs_before or {}
        self.is_cut_short = False
        self._is_late = is_late
        self.lengths: dict[Place, int] = {}
        self.spaces: dict[Place, int] = {}
        self._spaces_before = spaces_before or {}
        self._limits = Limits(numbers_before or {})
        self.numbers = self._limits.numbers
        self._names: dict[int, str] = {}  # variables of modules, which are named after these
        self._owners = Owners()
        self._variables: dict[int, tuple[ObjectSize, str]] = {}  # arrays by their memory
        self.n_visited = 0
        self._before = lengths_before
        self._seen: set[int] = set()
        self._entries: set[int] = set()  # containers in containers that grow
        self._owned: set[int] = set()  # items that count with their container
        self._within: dict[int, int] = {}  # containers in containers: the outer one of each
        self._reader = SizeReader()
        self._waiting: deque[tuple[Any, str]] = deque()
        self._later: deque[tuple[Any, str]] = deque()  # tuples in containers
        self._n_later = 0
        self._of_layers: set[Place] = set()  # variables of layers
        self._linked: set[int] = set()
        self._series: dict[Place, list[FoundSeries]] = {}
        self._containers: dict[Place, list[Any]] = {}
        self._results: dict[tuple[str, str, str], KeptObjects] = {}

    def search(
        self, callbacks: Iterable[object], model: object, suspended: Iterable[Any] = ()
    ) -> list[KeptObjects]:
        """Return the kept objects: those that cannot be measured, then the others, largest first.

        Args:
            callbacks: Callbacks of the running fit.
            model: Model of the running fit.
            suspended: Generators and coroutines of the script that no variable may refer to.
        """
        # Objects that libraries keep are named after the library, even if a variable of the
        # script refers to them too.
        for value, place in library_places():
            if length_of(value) is None:
                self._waiting.append((value, place))
            else:
                self._add_container(value, place)
        self._follow()
        modules = self._variables_of_modules()
        for callback in callbacks:
            kind: Any = type(callback)
            self._waiting += [(callback, class_name(kind)), (kind, class_name(kind))]
        self._waiting.append((model, class_name(type(model))))
        self._add_own(data_of_fits())
        self._follow(self.n_visited + _NEAR_THE_FIT)
        rest, self._waiting = self._waiting, deque()
        for name, variables in (*variables_of_calls(), *modules):
            self._add_names(variables, name)
        self._waiting.extend(rest)
        self._waiting += [(each, "") for each in suspended]
        self._follow()
        while self._series and not self.is_cut_short:
            self._add_series()
            self._follow()
        self._measure_all_found()
        by_size = sorted(self._results.values(), key=lambda each: -(each.n_bytes or 0.0))
        native = [each for each in by_size if each.n_bytes is None]
        measured = [each for each in by_size if (each.n_bytes or 0.0) >= self._least_bytes]
        return [*native[: MOST_LISTED // 4], *measured][:MOST_LISTED]

    def _measure_all_found(self) -> None:
        tasks = pending_tasks(each for found in self._containers.values() for each in found)
        if tasks is not None:
            self._add_container(tasks, TASKS)
        # Arrays count in their own container, not with an object that holds it in another one.
        places = sorted(self._containers.items(), key=lambda each: not hold_arrays(each[1]))
        for place, containers in places if self._before is None else self._containers.items():
            self._measure_all(containers, place)
        for size, name in self._variables.values():
            self._report(size, 1, size.n_bytes, (name, ""))
        for kind, count, n_bytes, place in counted_by_libraries(self._before, self.lengths):
            self._report(named_kind(kind), count, n_bytes, (place, ""))

    def _variables_of_modules(self) -> list[tuple[str, list[tuple[str, Any]]]]:
        """Variables of the script's modules; an object has the shortest of their names."""
        modules = [(name, instance_dict(sys.modules.get(name))) for name in MODULES.of_script()]
        modules.append(("__main__", names_of_shell()))
        found = [(name, named_variables(variables)) for name, variables in modules]
        for module, variables in found:
            for name, value in variables:
                place = f"{module}.{name}"
                known = self._names.get(id(value), place)
                self._names[id(value)] = min(known, place, key=len)
        return found

    def _add_names(self, items: Iterable[tuple[Any, Any]], place: str) -> None:
        found, others = numbered_names(items, place)
        for location, series in found.items():
            self._series.setdefault((location, series.series.name), []).append(series)
        self._waiting += [(value, f"{place}.{name}") for name, value in others]

    def _add_series(self) -> None:
        """Add each series that is longer than at the search before; else search its parts."""
        pending, self._series = self._series, {}
        for place, found in pending.items():
            length = sum(each.series.length for each in found)
            if self._before is not None and length > self._before.get(place, length):
                for each in found:
                    self._reader.seen.update(each.ids)
                    self._seen |= each.ids
                    self._visit_container(each.series, place[0])
            else:
                self.lengths[place] = self.lengths.get(place, 0) + length
                parts = [part for each in found for part in each.parts]
                self._seen.difference_update(id(value) for value, _ in parts)
                self._waiting += parts

    def _follow(self, most: int = _MOST_OBJECTS) -> None:
        while self.n_visited < most and (queue := self._next_queue()):
            value, place = queue.popleft()
            if id(value) in self._seen or holds_nothing(value):
                continue
            self._seen.add(id(value))
            self.n_visited += 1
            if self._is_over():
                return
            with suppress(RuntimeError):  # another thread changed it meanwhile
                self._visit(value, self._names.get(id(value), place))

    def _next_queue(self) -> deque[tuple[Any, str]]:
        is_turn_of_later = not self._waiting or self.n_visited % _LATER_EACH == 0
        if not self._later or not is_turn_of_later or self._n_later >= _MOST_LATER:
            return self._waiting
        self._n_later += 1
        return self._later

    def _is_over(self) -> bool:
        self.is_cut_short = self.is_cut_short or self._is_late()
        return self.is_cut_short

    def _visit(self, value: Any, place: str) -> None:
        linked = linked_objects(value, place, self._linked)
        if linked is not None:
            self._series.setdefault((place, linked.series.name), []).append(linked)
            return
        value = read_instead(value)
        is_known = (place, ARRAY) in self._spaces_before
        value = entries_of_array(value, is_known=is_known) or value
        length = length_of(value)
        if length == 0:
            self.lengths.setdefault((place, container_name(value)), 0)
        elif length is not None:
            self._visit_container(value, place)
        if length is not None:
            return
        size = size_of(value)
        n_bytes = bytes_of_buffer(value)
        if size is not None:
            self._visit_sized(value, size, place)
        elif n_bytes >= LEAST_BYTES:
            self._report(named_kind(class_name(type(value))), 1, n_bytes, (place, ""))
        else:
            self._visit_object(value, place)

    def _visit_sized(self, value: Any, size: ObjectSize, place: str) -> None:
        if size.has_objects:
            self._report_tree(value, place)
        elif size.kind == WITH_GRAPH:
            self._visit_graph(value, size, place)
        elif size.kind == COPIED_MAP:
            if self._reader.is_new(size) and (copied := copied_pages(value)) is not None:
                self._report(size, copied.count, copied.n_bytes, (place, copied.file))
        # One figure or data set that has a name is not what is kept of them.
        elif (size.n_bytes or 0) >= LEAST_BYTES and self._reader.is_new(size):
            key = place, ROWS
            rows = filled_rows(value, is_known=key in self._spaces_before)
            if rows is None:
                self._variables[size.memory] = size, place
            else:
                self.spaces[key] = rows.capacity
                self._report(size, rows.count, rows.n_bytes, key, rows.capacity)

    def _visit_graph(self, value: Any, size: ObjectSize, place: str) -> None:
        known = self.graphs.setdefault(place, [])
        before = next(iter(self._graphs_before.get(place, [])[len(known) :]), None)
        graph = self._reader.graphs.graph_of(value, before) or before
        if graph is not None:
            known.append(graph)
            n_bytes = None if graph.n_bytes is None else graph.n_bytes + (size.n_bytes or 0)
            like = dataclasses.replace(size, kind=GRAPH, shape="", dtype="", base="")
            self._report(like, graph.count, n_bytes, (place, ""))

    def _visit_object(self, value: Any, place: str) -> None:
        kind: Any = type(value)
        if is_subclass(kind, (type,)):
            if is_of_script(value):
                self._add_names(members_of(value), class_name(value))
                self._add_subclasses(value)
        elif is_subclass(kind, (BaseException, TracebackType)):
            self._report_tree(value, place)
        elif is_exactly(value, FunctionType, *SUSPENDABLE):
            name = name_of_call(value, place)
            self._add_names(variables_held(value), name)
            self._waiting += [(each, name) for each in iterated_by(value)]
        elif is_exactly(value, *PASSES_ON):
            self._waiting += [(each, place) for each in held_beside(value, {})]
        elif is_followed(kind):
            fields = instance_dict(value)
            self._limits.add_owner(fields)
            self._add_names(attributes_of(value), self._owners.name_of(kind, place))
            if has_layers(fields):
                self._add_own([*all_layers_of(value), *compiled_with(value)])
                self._add_variables(value)

    def _add_own(self, parts: Iterable[Any]) -> None:
        """Follow those parts of a model, or of what it is given, that are the script's own."""
        for part in parts:
            kind: Any = type(part)
            if not is_known_class(kind) or is_exactly(part, *HOLDS_VARIABLES):
                self._waiting.append((part, class_name(kind)))

    def _add_variables(self, layer: Any) -> None:
        """Add the variables of a layer, to which a script may add one each epoch."""
        for name, variables in variable_lists_of(layer):
            if length_of(variables):
                place = f"{class_name(type(layer))}.{name}"
                self._of_layers.add(self._add_container(variables, place))

    def _add_subclasses(self, kind: type) -> None:
        found = subclasses_of(kind)
        if found is not None:
            self._series.setdefault((class_name(kind), SUBCLASSES), []).append(found)

    def _add_container(self, value: Any, place: str) -> Place:
        key = place, container_name(value)
        self._seen.add(id(value))
        part = self._part_of(value, key)
        counted = value if part is None else part
        self._containers.setdefault(key, []).append(counted)
        self.lengths[key] = self.lengths.get(key, 0) + (length_of(counted) or 0)
        self._limits.add_container(value, key)
        return key

    def _part_of(self, value: Any, place: Place) -> Series | None:
        """The filled part of a container of which some entries are None, or were before."""
        if id(value) in self._entries:
            return None
        entries = self._spaces_before.get(place)
        part = filled_part(value, is_known=entries is not None)
        if part is None or (part.length == part.capacity != entries):
            return None
        self.spaces[place] = self.spaces.get(place, 0) + (part.capacity or 0)
        return part

    def _capacity(self, value: Any, place: Place) -> int | None:
        if self._spaces_before.get(place) != self.spaces.get(place):
            return None  # seen for the first time, or its entries become more
        own = capacity_of(value)
        return self._limits.limit_of(value, place) if own is None else own

    def _is_full(self, value: Any, place: Place) -> bool:
        return (length_of(value) or 0) >= (self._capacity(value, place) or sys.maxsize)

    def _visit_container(self, value: Any, place: str) -> None:
        key = self._add_container(value, place)
        # In a container that grows the items are measured, each with all that it holds.
        is_entry = id(value) in self._entries
        is_known = self._before is not None and not is_entry  # entries are counted as they come
        is_constant = is_known and (self._before or {}).get(key) == self.lengths[key]
        are_values = is_record(value) and not is_entry
        are_fields = are_values or has_fields(value)
        if is_constant and not are_fields:
            self._waiting += [(each, place) for each in larger_end(value)]
        for each, name in children_of(value, place):
            waiting = self._later if is_exactly(each, tuple, frozenset) else self._waiting
            may_grow = are_fields or size_of(each) is None or grows_in_place(each)
            if (is_constant or are_values) and may_grow:
                waiting.append((each, name))
            elif length_of(each) is not None:
                waiting.append((each, name))
                self._entries.add(id(each))
                self._within[id(each)] = id(value)

    def _report_tree(self, value: Any, place: str) -> None:
        size = self._reader.tree(value)
        if size.largest is not None:
            self._report(size.largest, 1, size.n_bytes, (place, ""))

    def _measure_all(self, containers: list[Any], place: Place) -> None:
        is_first = self._before is None
        is_same = self._before is not None and self._before.get(place, 0) == self.lengths[place]
        if is_same and not all(self._is_full(each, place) for each in containers):
            return
        if place in self._of_layers and place not in (self._before or {}):
            return  # weights of a model
        for value in containers:
            length = length_of(value) or 0
            if self._is_over():
                return
            # One that was full at the first search never grew; later its items may grow.
            # Finalizers are mostly of libraries, with PyTorch some hundred.
            is_left_out = is_first and (self._is_full(value, place) or place[0] == FINALIZERS)
            is_measured = length >= FEWEST and not is_left_out and not is_record(value)
            if is_measured and not self._counts_with_another(value):
                with suppress(RuntimeError):  # as above
                    self._measure(value, length, place)

    def _counts_with_another(self, value: Any) -> bool:
        """True for a container that is measured as part of what it is in.

        An outer one comes before those in it. At the first search all are measured, since the
        inner ones may be those that grow.
        """
        outer = None if self._before is None else self._within.get(id(value))
        if outer in self._owned:
            self._owned.add(id(value))
        return id(value) in self._owned

    def _measure(self, value: Any, length: int, place: Place) -> None:
        items = newest_items(value, _ALL_MEASURED)
        capacity = self._capacity(value, place)
        sizes = [size for size in map(size_of, items) if size is not None]
        are_sized = len(sizes) * 2 >= len(items)
        if are_sized and not any(size.has_objects or size.kind == DATASET for size in sizes):
            self._take_variables(sizes)
            new, new_bytes = self._reader.new_arrays(items)
            if not new:
                return
            # Where many share their memory, the others are taken to share it too.
            n_bytes = new_bytes * (length / len(items) if 2 * len(new) > len(sizes) else 1.0)
            is_native = all(size.n_bytes is None for size in new)
            like = most_common(new)
            if like.kind == WITH_GRAPH:
                each = self._reader.newest_graph_bytes(items)
                like = with_graph_bytes(like, each)
                n_bytes += (each or 0.0) * length
                is_native = each is None and n_bytes < self._least_bytes
            self._report(like, length, None if is_native else n_bytes, place, capacity)
        elif is_exactly(items[-1], int, float, bool, type(None)):
            n_bytes = sum(map(bytes_of_number, items)) * length / len(items)
            of_keys = self._bytes_of_keys(value, length)
            like = named_kind("number") if n_bytes >= of_keys else kind_of_key(value)
            self._report(like, length, n_bytes + of_keys, place, capacity)
        else:
            own = set(map(id, items))
            self._owned |= own
            self._measure_trees(items[-_NEWEST:], {id(value), *own}, length, place, capacity)

    def _take_variables(self, sizes: Iterable[ObjectSize]) -> None:
        """Count arrays that are a variable's value too with their container, but no views."""
        for size in sizes:
            if not size.base and self._variables.pop(size.memory, None) is not None:
                self._reader.seen.discard(size.memory)

    def _bytes_of_keys(self, value: Any, length: int) -> float:
        keys = newest_keys(value, _NEWEST)
        n_bytes = sum(self._reader.tree(key).n_bytes for key in keys)
        return n_bytes * length / max(1, len(keys))

    def _measure_trees(
        self, items: list[Any], apart: set[int], length: int, place: Place, capacity: int | None
    ) -> None:
        # The newest may be a variable's value too, which belongs there. Contents of the first one
        # too are shared by all; but an item may lead to others, as an error by its frames.
        are_all = length == len(items) and are_parts(items)
        measured = items if are_all else items[1:-1] or items[1:]
        if not are_all:
            self._reader.tree(items[0], apart)
        total = TreeSize()
        n = 0
        n_before = self._reader.n_visited
        while n < len(measured) and self._reader.n_visited - n_before < _MOST_IN_TREES:
            total.join(self._reader.tree(measured[n], apart))
            n += 1
        like = size_of(measured[0]) or kind_of_item(measured[0])
        n_bytes = total.n_bytes / n * length
        # At the first search nobody knows if there are more than before.
        if total.has_unknown and total.n_bytes < _LITTLE * n and self._before is not None:
            total.native = total.native or like or named_kind("object")
        is_traced = total.native is not None and total.native.kind == TRACED_FUNCTION
        if total.native is not None and not (is_traced and n_bytes >= LEAST_BYTES):
            has_name = total.native.kind == KERAS_MODEL and like is not None
            self._report(
                like if like and has_name else total.native, length, None, place, capacity
            )
            return
        like = like or total.whole
        if like is None and total.largest is not None and 2 * total.sized_bytes >= total.n_bytes:
            is_part = total.largest_bytes < _WHOLE * total.n_bytes
            like = dataclasses.replace(total.largest, is_part=is_part)
        self._report(like or named_kind("object"), length, n_bytes, place, capacity)

    def _report(
        self,
        like: ObjectSize,
        count: int,
        n_bytes: float | None,
        place: Place,
        capacity: int | None = None,
    ) -> None:
        key = (like.kind, *place)
        before = self._results.get(key)
        if before is not None:
            count += before.count
            if n_bytes is not None and before.n_bytes is not None:
                n_bytes += before.n_bytes
            both = capacity, before.capacity
            capacity = None if None in both else sum(each or 0 for each in both)
        self._results[key] = KeptObjects(
            kind=like.kind[:_LONGEST],
            count=count,
            n_bytes=n_bytes,
            shape=like.shape[:_LONGEST],
            dtype=like.dtype[:_LONGEST],
            container=place[1][:_LONGEST],
            place=place[0][:_LONGEST],
            is_on_device=like.is_on_device,
            base=like.base[:_LONGEST],
            is_part=like.is_part,
            capacity=capacity,
        )
