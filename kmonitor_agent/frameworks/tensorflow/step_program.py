# pyright: basic
"""A Keras model's training step as a `StepProgram`: operations, with sizes by the batch.

`trace_training_step` prepares the model, has `step_graph` trace its step, once or at two batches,
and gives the program, from which the step's memory is computed. No step is run.
"""

import copy
import math
import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kmonitor_agent.frameworks.global_state import preserve_name_counters, preserve_random_state
from kmonitor_agent.frameworks.tensorflow.size_formulas import TRIED, SizeFormulas, is_counted
from kmonitor_agent.frameworks.tensorflow.step_graph import (
    CannotTrace,
    TracedStep,
    is_rewriting_refused,
    loop_trip_count,
    trace_step_graph,
)
from kmonitor_agent.wire.messages.model_layout import OptimizerLayout
from kmonitor_agent.wire.messages.step_program import (
    SizeFormula,
    StepGraph,
    StepOperation,
    StepProgram,
)

__all__ = ["CannotTrace", "set_optimizer", "trace_training_step"]

_CPU_SEES_BYTES: Final = 256 * 1024
"""Source: measured with tensorflow-cpu 2.21 by allocating tensors of rising size."""

CUDA_DEVICES: Final = ("/dev/nvidiactl", "/dev/dxg")
ROCM_DEVICES: Final = ("/dev/kfd", "/dev/dxg")
"""Files of the drivers on Linux, and in Windows' subsystem for it."""

_SUMS_ABOVE_BYTES: Final = int(0.8 * 256 * 1024 * 1024)
"""Most of a CPU's memory, as grappler takes it. Source: `memory_optimizer.cc`, and the limit of a
CPU's device attributes."""

_SMALL: Final = ("BroadcastGradientArgs", "Placeholder", "VariableShape")
"""Kinds of operations without memory of their own worth counting: shapes as tensors, and
placeholders of a caller's tensors."""

_BODIES: Final = ("cond", "body", "then_branch", "else_branch", "f", "branches")
_BACKWARD: Final = "gradient_tape/"
_FORWARD = 0
_BACK = 1
_UPDATE = 2


def trace_training_step(
    model: Any, shapes: Sequence[tuple[int | None, ...]] | None = None
) -> StepProgram:
    """The program of one training step; nothing runs, weights and slots stay as they are.

    So do names and random numbers, which the tracing counts and draws.

    Args:
        model: Built and compiled.
        shapes: Shapes of its inputs, with the batch first; None: the model's own.

    Raises:
        CannotTrace: The model is not compiled, or of another backend, or its step has no graph.
    """
    import keras

    if keras.backend.backend() != "tensorflow":
        raise CannotTrace(f"steps on {keras.backend.backend()} are not traced")
    if not getattr(model, "compiled", False) or model.optimizer is None:
        raise CannotTrace("the model is not compiled")
    if model.jit_compile:
        raise CannotTrace("XLA compiles the step")
    with preserve_name_counters(), preserve_random_state():
        return _trace_with_slots(model, shapes)


def _trace_with_slots(model: Any, shapes: Sequence[tuple[int | None, ...]] | None) -> StepProgram:
    own = model.optimizer
    if own.built:
        return _build_program(model, shapes=shapes)
    # Slots would stay with the model for good: another optimizer of the kind has them meanwhile.
    model.optimizer = type(own).from_config(own.get_config())
    try:
        model.optimizer.build(model.trainable_variables)
        return _build_program(model, shapes=shapes)
    finally:
        model.optimizer = own


def set_optimizer(model: Any, optimizer: OptimizerLayout) -> None:
    """Give a model another optimizer; one that is not compiled gets a loss that fits its end."""
    import keras

    kind: Any = type(keras.optimizers.get(optimizer.kind.lower()))
    new_optimizer = kind(**optimizer.settings)
    if not model.compiled:
        ends = getattr(getattr(model, "layers", [None])[-1], "activation", None)
        is_choice = getattr(ends, "__name__", "") == "softmax"
        loss = "sparse_categorical_crossentropy" if is_choice else "mse"
        model.compile(new_optimizer, loss, jit_compile=False)
        return
    if str(model.dtype_policy.name) == "mixed_float16":
        new_optimizer = keras.optimizers.LossScaleOptimizer(new_optimizer)
    model.optimizer = new_optimizer


def _build_program(
    model: Any, shapes: Sequence[tuple[int | None, ...]] | None = None
) -> StepProgram:
    """The program of one step of `fit`, for any batch.

    Args:
        model: A compiled model whose optimizer has its slots.
        shapes: Shapes of its inputs, with the batch first; None: the model's own.

    Raises:
        CannotTrace: There is no graph, or it cannot be read.
    """
    began_s = time.perf_counter()
    if not _has_loops(model):
        traced = trace_step_graph(model, None, shapes)
        program = _built([traced] * 2, began_s)
        if not program.unknown:
            return program
    else:
        program = None
    # In loops, sizes are those that the trace saw: it must see two batches.
    try:
        again = _traced_at_two_batches(model, shapes, began_s)
    except CannotTrace:
        if program is None:
            raise
        return program
    return again if program is None or again.unknown < program.unknown else program


def _traced_at_two_batches(
    model: Any, shapes: Sequence[tuple[int | None, ...]] | None, began_s: float
) -> StepProgram:
    try:
        return _built([trace_step_graph(model, each, shapes) for each in TRIED], began_s)
    except CannotTrace:
        # A constant of the smaller batch may have been too large for the other one.
        seen = [trace_step_graph(model, each, shapes, folds=False) for each in TRIED]
        return _built(seen, began_s)


def _has_loops(model: Any) -> bool:
    import keras

    return any(isinstance(each, keras.layers.RNN) for each in model._flatten_layers())  # noqa: SLF001 - also those within layers


def _built(traced: Sequence[TracedStep], began_s: float) -> StepProgram:
    first = traced[0]
    try:
        graphs = [_imported(each, each.graph, size)
                  for each, size in zip(traced, TRIED, strict=True)]  # fmt: skip
        is_refused = is_rewriting_refused(graphs[0])
        if is_refused:
            graphs = [_imported(each, each.plain, size)
                      for each, size in zip(traced, TRIED, strict=True)]  # fmt: skip
        builder = _Builder(first, graphs)
        builder.add(graphs, [_wanted(graph, each.fetches)
                             for graph, each in zip(graphs, traced, strict=True)])  # fmt: skip
    except ValueError as exc:  # TensorFlow's, of a graph that it made itself
        raise CannotTrace(f"the optimized step cannot be read: {exc}"[:500]) from exc
    return StepProgram(
        graphs=tuple(builder.graphs),
        extents=tuple(builder.size_formulas.found),
        layers=tuple(builder.layers),
        variables=tuple(first.variables.values()),
        created_variables=tuple(
            (list(first.variables).index(name), drawn) for name, drawn in first.created_variables
        ),
        unknown=builder.unknown,
        seconds=time.perf_counter() - began_s,
        unseen_bytes=_unseen_bytes(),
        sums_above_bytes=_SUMS_ABOVE_BYTES if _unseen_bytes() else None,
        notes=tuple(first.notes),
        is_rewritten=not is_refused,
    )


def _unseen_bytes() -> int:
    """On a CPU small tensors go past the allocator that counts.

    A build for GPUs, as `pip install tensorflow` brings it, computes on the CPU of a host without
    one. Those of this host may be hidden from this process, so that it takes no memory on them.
    """
    import tensorflow as tf

    build = tf.sysconfig.get_build_info()
    paths = CUDA_DEVICES if build.get("is_cuda_build") else ()
    paths = ROCM_DEVICES if build.get("is_rocm_build") else paths
    return 0 if any(Path(each).exists() for each in paths) else _CPU_SEES_BYTES


def _imported(traced: TracedStep, graph_definition: Any, batch: int) -> Any:
    """A graph of a step with every shape inferred again for a batch."""
    import tensorflow as tf

    definition = copy.deepcopy(graph_definition)
    for node in definition.node:
        node.attr.pop("_output_shapes", None)
        if node.name in traced.data:
            shape = [batch if each is None else each for each in traced.data[node.name]]
            node.attr["shape"].shape.CopyFrom(tf.TensorShape(shape).as_proto())
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(definition, name="")
    return graph


def _wanted(graph: Any, fetches: Sequence[str]) -> set[str]:
    """Names of operations that a run needs: the ancestors of its fetches."""
    todo = [graph.as_graph_element(each.partition(":")[0]) for each in fetches]
    names: set[str] = set()
    while todo:
        operation = todo.pop()
        if operation.name not in names:
            names.add(operation.name)
            todo.extend(each.op for each in operation.inputs)
            todo.extend(operation.control_inputs)
    return names


class _Builder:
    """Collects graphs; the step's own comes first."""

    def __init__(self, traced: TracedStep, graphs: Sequence[Any]) -> None:
        self._libraries = [_Library(each) for each in graphs]
        self.graphs: list[Any] = []
        self.size_formulas = SizeFormulas()
        self.layers: list[str] = []
        self.unknown = 0
        self._names = _Names(traced, self.layers)
        self._variables = {name: index for index, name in enumerate(traced.variables)}
        self._trips: dict[tuple[int, str], int | None] = {}

    def add(
        self, graphs: Sequence[Any], wanted: Sequence[set[str]] | None, layer: int = -1,
        phase: int = _FORWARD,
    ) -> int:  # fmt: skip
        """Index of a graph, seen at each batch; those that it runs come behind it."""
        graph_index = len(self.graphs)
        self.graphs.append(None)
        seen = [_sorted_by_dependency(each, None if wanted is None else wanted[number])
                for number, each in enumerate(graphs)]  # fmt: skip
        if len({tuple(operation.type for operation in each) for each in seen}) != 1:
            raise CannotTrace("the step's graph depends on the batch size")
        operation_indices = {each.name: number for number, each in enumerate(seen[0])}
        operations = [self._operation(pair, operation_indices, graph_index, (layer, phase))
                      for pair in zip(*seen, strict=True)]  # fmt: skip
        self.graphs[graph_index] = StepGraph(
            tuple(operations),
            tuple(operation_indices[each.op.name] for each in getattr(graphs[0], "inputs", ())
                  if each.op.name in operation_indices),
            tuple((operation_indices[each.op.name], each.value_index)
                  for each in getattr(graphs[0], "outputs", ())),
        )  # fmt: skip
        return graph_index

    def _operation(
        self,
        pair: Sequence[Any],
        operation_indices: Mapping[str, int],
        graph_index: int,
        above: tuple[int, int],
    ) -> StepOperation:
        operation = pair[0]
        layer, phase = self._names.of(operation) if graph_index == 0 else above
        trips = None
        if operation.type in ("While", "StatelessWhile"):
            condition = self._libraries[0].graph_of(operation.node_def.attr["cond"].func.name)
            trips = loop_trip_count(operation, condition, self._trips, graph_index)
            self._trips[graph_index, operation.name] = trips
        elif operation.type == "TensorListFromTensor":
            trips = operation.inputs[0].shape[0] if operation.inputs[0].shape.rank else None
        return StepOperation(
            kind=FIRST_AXIS_VIEW if is_first_axis_view(operation) else operation.type,
            inputs=tuple((operation_indices[each.op.name], each.value_index)
                         for each in operation.inputs),
            after=tuple(operation_indices[each.name] for each in operation.control_inputs
                        if each.name in operation_indices),
            sizes=self._sizes(pair),
            work=self.size_formulas.of_work(pair),
            workspace=self.size_formulas.of_workspace(pair),
            beside=self.size_formulas.beside(pair),
            layer=layer,
            phase=phase,
            variable=self._variables.get(operation.name, -1) if graph_index == 0 else -1,
            bodies=tuple(self.add(each, None, layer, phase) for each in self._bodies(pair)),
            trips=trips,
        )  # fmt: skip

    def _bodies(self, pair: Sequence[Any]) -> Iterator[list[Any]]:
        """The graphs that an operation runs, each seen at each batch."""
        for names in zip(*map(_function_names, pair), strict=True):
            named = zip(self._libraries, names, pair, strict=True)
            yield [library.graph_of(name, operation) for library, name, operation in named]

    def _sizes(self, pair: Sequence[Any]) -> tuple[int, ...]:
        operation = pair[0]
        indices: list[int] = []
        for known in self.size_formulas.of_outputs(pair):
            formula = known
            if formula is None:
                formula, is_known = self._assumed(operation)
                self.unknown += not is_known
            indices.append(self.size_formulas.index_of(formula) if formula.factor else -1)
        return tuple(indices)

    def _assumed(self, operation: Any) -> tuple[SizeFormula, bool]:
        """Size of the largest input, in place of an unknown size; True if it is not a guess."""
        if operation.type in _SMALL:
            return SizeFormula(0), True
        shaped = _shaped_like(operation)
        if shaped is not None:
            return shaped, True
        sizes = [size for each in operation.inputs if is_counted(each)
                 for size in self.size_formulas.of_outputs(
                     [each.op, each.op])[each.value_index:][:1]
                 if size is not None]  # fmt: skip
        return max(sizes, key=lambda each: each.at(TRIED[1]), default=SizeFormula(0)), False


def _sorted_by_dependency(graph: Any, wanted: set[str] | None) -> list[Any]:
    """Wanted operations, each after those that it needs, else in the order of creation."""
    ordered: dict[str, Any] = {}
    for last in graph.get_operations():
        if wanted is not None and last.name not in wanted:
            continue
        todo = [last]
        while todo:
            operation = todo[-1]
            needs = [each.op for each in operation.inputs] + list(operation.control_inputs)
            open_ = [each for each in needs if each.name not in ordered]
            if open_ and operation.name not in ordered:
                todo.extend(open_)
            else:
                ordered.setdefault(operation.name, operation)
                todo.pop()
    return list(ordered.values())


def _shaped_like(operation: Any) -> SizeFormula | None:
    """Size of zeros in the shape of a variable whose handle went through a loop."""
    if operation.type != "Fill" or operation.inputs[0].op.type != "VariableShape":
        return None
    handle = operation.inputs[0].op.inputs[0]
    while handle.op.type in ("While", "StatelessWhile", "Identity"):
        handle = handle.op.inputs[handle.value_index]
    if handle.op.type != "VarHandleOp":
        return None
    lengths = [each.size for each in handle.op.get_attr("shape").dim]
    return SizeFormula(math.prod(lengths) * operation.outputs[0].dtype.size)


FIRST_AXIS_VIEW: Final = "FirstAxisView"
"""Kind of operations whose outputs share the memory of their input."""

_ALIGNED_BYTES: Final = 64


def is_first_axis_view(operation: Any) -> bool:
    """True if an operation takes whole rows of its input, which then are not copied.

    Source: `strided_slice_op.cc` and `unpack_op.cc`; rows must be aligned as Eigen wants it.
    """
    if operation.type not in ("StridedSlice", "Unpack"):
        return False
    shape = operation.inputs[0].shape
    if not shape.rank or shape.rank == 1 or not shape[1:].is_fully_defined():
        return False
    row_bytes = math.prod(shape[1:]) * operation.inputs[0].dtype.size
    if row_bytes % _ALIGNED_BYTES:
        return False
    if operation.type == "Unpack":
        return operation.get_attr("axis") in (0, -shape.rank)
    return _takes_rows(operation)


def _takes_rows(part: Any) -> bool:
    """True if a strided slice leaves all axes but the first as they are."""
    import tensorflow as tf

    if part.get_attr("ellipsis_mask") or part.get_attr("new_axis_mask"):
        return False
    strides = tf.get_static_value(part.inputs[3])
    if strides is None or any(each != 1 for each in strides):
        return False
    others = 2 ** len(strides) - 2  # a bit for each axis that it names but the first
    whole = part.get_attr("begin_mask") & part.get_attr("end_mask")
    return whole & others == others


def _function_names(operation: Any) -> list[str]:
    names = []
    for name in _BODIES:
        if name in operation.node_def.attr:
            value = operation.node_def.attr[name]
            names += [value.func.name] if value.HasField("func") else [
                each.name for each in value.list.func]  # fmt: skip
    return [each for each in names if each]


class _Library:
    """Functions of a graph, which all graphs in it may run."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._functions = {each.signature.name: each
                           for each in graph.as_graph_def().library.function}  # fmt: skip

    def graph_of(self, name: str, operation: Any | None = None) -> Any:
        """A function's graph; with the shapes that an operation gives it, if one is named."""
        from tensorflow.python.framework import function_def_to_graph

        function = self._functions[name]
        shapes = None
        if operation is not None:
            shapes = [each.shape for each in operation.inputs]
            shapes = shapes[len(shapes) - len(function.signature.input_arg) :]
        with self._graph.as_default():
            return function_def_to_graph.function_def_to_graph(function, input_shapes=shapes)


class _Names:
    """Finds the layer and the phase of an operation by its name."""

    def __init__(self, traced: TracedStep, layers: list[str]) -> None:
        self._operation_indices = traced.operation_indices
        self._sorted_layers = sorted(traced.layers, key=lambda each: (each[0], -each[1]))
        self._starts = [each[0] for each in self._sorted_layers]
        self._layers = layers
        self._layer_indices: dict[str, int] = {}
        backward = [index for name, index in traced.operation_indices.items() if _BACKWARD in name]
        self._first_back = min(backward, default=len(traced.operation_indices))
        self._last_back = max(backward, default=-1)

    def of(self, operation: Any) -> tuple[int, int]:
        name = operation.name
        if _BACKWARD in name:
            return self._layer(self._forward_index(name.rpartition(_BACKWARD)[2])), _BACK
        index = self._operation_indices.get(name)
        if index is None:  # made by TensorFlow's own optimizing
            return -1, _FORWARD
        if index > self._last_back > 0:
            return -1, _UPDATE
        return self._layer(index), _FORWARD if index < self._first_back else _BACK

    def _forward_index(self, name: str) -> int | None:
        while name:
            if name in self._operation_indices:
                return self._operation_indices[name]
            name = name.rpartition("/")[0]
        return None

    def _layer(self, index: int | None) -> int:
        if index is None:
            return -1
        last = bisect_right(self._starts, index)
        for start, end, path in reversed(self._sorted_layers[:last]):
            if start <= index < end:
                if path not in self._layer_indices:
                    self._layer_indices[path] = len(self._layers)
                    self._layers.append(path)
                return self._layer_indices[path]
        return -1
