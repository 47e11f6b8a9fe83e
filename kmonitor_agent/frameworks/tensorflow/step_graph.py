# pyright: basic
"""Graph of a Keras model's training step: traced, optimized by TensorFlow, and never run.

`trace_step_graph` gives a `TracedStep`; `step_program` makes a plain program of it. For that,
`loop_trip_count` says how often a loop turns.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, Final

from kmonitor_agent.frameworks.live_objects import closure_values
from kmonitor_agent.frameworks.model_facts import variables_of
from kmonitor_agent.frameworks.tensorflow.internals import find_internals
from kmonitor_agent.frameworks.tensorflow.traces import GRADIENT_PREFIX


class CannotTrace(Exception):
    """There is no graph of this model's step.

    Attributes:
        why: The reason, as text.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(slots=True)
class TracedStep:
    """A step's graph.

    Attributes:
        graph: GraphDef with its functions, as TensorFlow would run it.
        plain: GraphDef as traced, before TensorFlow rewrites it.
        fetches: Names of tensors and operations that a run fetches.
        data: Names of the operations that represent inputs and targets, with their shapes.
        variables: Bytes of each variable by the name of the operation that represents it.
        created_variables: (name, True if its initial values were drawn) of variables, in the order
            of creation.
        layers: (first, past the last, path) of operations that a layer created, in the order of
            creation; inner layers come later.
        operation_indices: Order of creation of each operation, by name, before optimizing.
        notes: Assumptions, as text.
    """

    graph: Any
    plain: Any
    fetches: list[str]
    data: dict[str, tuple[int | None, ...]]
    variables: dict[str, int]
    created_variables: list[tuple[str, bool]]
    layers: list[tuple[int, int, str]]
    operation_indices: dict[str, int]
    notes: list[str] = field(default_factory=list)


_STEP: Final = "kmonitor_step"
"""Name of the traced function, which no function of the script has."""

_CPU: Final = "/job:localhost/replica:0/task:0/device:CPU:0"
_REORDERED: Final = "ArithmeticOptimizer/"
"""Prefix of operations that grappler moved, which have the shapes of the operations before."""

_SPARSE: Final = "sparse_"
_ASSUMED: Final = "the shape of the targets was derived from the loss"


def trace_step_graph(
    model: Any,
    batch: int | None = None,
    shapes: Sequence[tuple[int | None, ...]] | None = None,
    *,
    folds: bool = True,
) -> TracedStep:
    """The graph of one step of `fit`, for any batch or for one.

    The model's own `train_step` runs once, symbolically; weights and slots stay as they are.

    Args:
        model: A compiled model whose optimizer has its slots.
        batch: Examples a step; None: any.
        shapes: Shapes of its inputs, with the batch first; None: the model's own.
        folds: True if constants are computed ahead; how large they are depends on the batch.

    Raises:
        CannotTrace: The step has no static graph, or refuses such data.
    """
    if getattr(model, "run_eagerly", False):
        raise CannotTrace("the model runs eagerly, so its step has no graph")
    try:
        return _trace(model, batch, shapes, folds=folds)
    finally:
        _forget_traces()


def _trace(
    model: Any,
    batch: int | None,
    shapes: Sequence[tuple[int | None, ...]] | None,
    *,
    folds: bool,
) -> TracedStep:
    concrete, layers = _concrete(model, batch, shapes)
    graph = concrete.graph
    definition = graph.as_graph_def(add_shapes=True)
    variables = _name_variables(definition, graph)
    captured = {inner.op.name for _, inner in graph.captures}
    data = {each.op.name: tuple(each.shape) for each in graph.inputs
            if each.op.name not in captured}  # fmt: skip
    fetches = [each.name for each in graph.outputs]
    fetches += [each.name for each in graph.control_outputs]
    operation_indices = {each.name: index for index, each in enumerate(graph.get_operations())}
    created = _created_variables(model, graph)
    optimized = _optimized(definition, fetches, folds=folds)
    return TracedStep(optimized, definition, fetches, data, variables,
                      created, layers, operation_indices, [_ASSUMED])  # fmt: skip


def _concrete(
    model: Any, batch: int | None, shapes: Sequence[tuple[int | None, ...]] | None
) -> tuple[Any, list[tuple[int, int, str]]]:
    import tensorflow as tf

    first: Exception | None = None
    for data in _data_specs(model, batch, shapes):

        def kmonitor_step(given: Any) -> Any:
            return model.train_step(given)

        with _layer_calls() as layers:
            try:
                concrete_function = tf.function(
                    kmonitor_step, autograph=False
                ).get_concrete_function(data)
            except Exception as exc:  # noqa: BLE001 - the user's code may raise anything
                first = first or exc
                continue
        return concrete_function, [(start, end, path) for graph, start, end, path in layers
                      if graph is concrete_function.graph]  # fmt: skip
    raise CannotTrace(f"the step cannot be traced: {type(first).__name__}: {first}"[:500])


def _data_specs(
    model: Any, batch: int | None, shapes: Sequence[tuple[int | None, ...]] | None
) -> Iterator[Any]:
    """Specs of the elements that a data set would yield, the likeliest first."""
    import keras
    import tensorflow as tf

    inputs = _inputs(model)
    if shapes is not None:
        symbolic_inputs = [keras.KerasTensor(tuple(shape), dtype=each.dtype)
                 for shape, each in zip(shapes, tf.nest.flatten(inputs), strict=True)]  # fmt: skip
        inputs = tf.nest.pack_sequence_as(inputs, symbolic_inputs)
    if any(None in each.shape[1:] for each in tf.nest.flatten(inputs)):
        raise CannotTrace("a dimension of the model's input shape is unspecified (None)")
    x = tf.nest.map_structure(
        lambda each: tf.TensorSpec((batch, *each.shape[1:]), each.dtype), inputs
    )
    outputs = model.compute_output_spec(inputs)
    y = _targets(model, outputs, batch)
    if y is not None:
        yield (x, y)
    yield (x, tf.nest.map_structure(lambda each: tf.TensorSpec((batch, *each.shape[1:])), outputs))
    yield x


def _inputs(model: Any) -> Any:
    inputs = getattr(model, "_inputs_struct", None)
    if inputs is None:
        inner = getattr(model, "_functional", None)
        inputs = getattr(inner, "_inputs_struct", None)
    if inputs is None and getattr(model, "inputs", None):
        inputs = model.inputs
    if inputs is None:
        shapes = getattr(model, "_build_shapes_dict", None) or {}
        if len(shapes) != 1:
            raise CannotTrace("the shapes of the model's inputs are unknown")
        inputs = _symbolic_of(next(iter(shapes.values())))
    if isinstance(inputs, list | tuple) and len(inputs) == 1:
        return inputs[0]
    return tuple(inputs) if isinstance(inputs, list) else inputs


def _symbolic_of(shape: Any) -> Any:
    import keras

    if isinstance(shape, dict):
        return {name: _symbolic_of(each) for name, each in shape.items()}
    if shape and isinstance(shape[0], list | tuple):
        return tuple(_symbolic_of(each) for each in shape)
    return keras.KerasTensor((None, *shape[1:]))


def _targets(model: Any, outputs: Any, batch: int | None) -> Any:
    """Specs like the outputs', by each one's loss; None if the losses do not match them."""
    import tensorflow as tf

    losses = getattr(model, "loss", None)
    flat = tf.nest.flatten(outputs)
    if isinstance(losses, dict) and isinstance(outputs, dict):
        named = [losses.get(name) for name in outputs]
    elif isinstance(losses, list | tuple):
        named = list(losses)
    else:
        named = [losses] * len(flat)
    if len(named) != len(flat):
        return None
    specs = [_target(tf, each, loss, batch) for each, loss in zip(flat, named, strict=True)]
    return tf.nest.pack_sequence_as(outputs, specs)


def _target(tf: Any, output: Any, loss: Any, batch: int | None) -> Any:
    name = loss if isinstance(loss, str) else str(getattr(loss, "name", ""))
    if name.startswith(_SPARSE):
        return tf.TensorSpec((batch, *output.shape[1:-1]), "int32")
    return tf.TensorSpec((batch, *output.shape[1:]), "float32")


@contextmanager
def _layer_calls() -> Iterator[list[tuple[Any, int, int, str]]]:
    """Operations that each call of a layer makes, while it is open: (graph, first, end, path).

    Names of operations will not do: TensorFlow gives them suffixes that other layers have.
    """
    import keras
    import tensorflow as tf

    calls: list[tuple[Any, int, int, str]] = []
    above: list[str] = []
    own = keras.layers.Layer.__call__

    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        graph = tf.compat.v1.get_default_graph()
        start = _last_operation(graph)
        above.append(str(getattr(self, "name", type(self).__name__)))
        index = len(calls)
        calls.append((graph, start, start, "/".join(above[1:]) or above[0]))
        try:
            return own(self, *args, **kwargs)
        finally:
            calls[index] = (graph, start, _last_operation(graph), "/".join(above[1:]) or above[0])
            above.pop()

    keras.layers.Layer.__call__ = noted
    try:
        yield calls
    finally:
        keras.layers.Layer.__call__ = own


def _last_operation(graph: Any) -> int:
    return len(graph.get_operations()) if hasattr(graph, "captures") else 0


def _name_variables(definition: Any, graph: Any) -> dict[str, int]:
    """Bytes of each variable by name; the variables' placeholders become handles with a shape."""
    by_handle = {id(each.handle): each for each in graph.variables}
    of = {inner.op.name: by_handle.get(id(outer)) for outer, inner in graph.captures}
    bytes_by_name: dict[str, int] = {}
    for node in definition.node:
        variable = of.get(node.name)
        if variable is None:
            continue
        node.op = "VarHandleOp"
        node.attr.clear()
        node.attr["dtype"].type = variable.dtype.as_datatype_enum
        node.attr["shape"].shape.CopyFrom(variable.shape.as_proto())
        node.attr["shared_name"].s = node.name.encode()
        bytes_by_name[node.name] = int(variable.shape.num_elements() or 0) * variable.dtype.size
    return bytes_by_name


def _created_variables(model: Any, graph: Any) -> list[tuple[str, bool]]:
    of = {id(outer): inner.op.name for outer, inner in graph.captures}
    own = [each for each in model.variables if hasattr(each, "handle") or hasattr(each, "value")]
    drawn = [(each, len(each.shape) > 1) for each in own]
    drawn += [(each, False) for each in variables_of(model.optimizer)]
    names = [(of.get(id(getattr(getattr(each, "value", each), "handle", None))), is_drawn)
             for each, is_drawn in drawn]  # fmt: skip
    return [(name, is_drawn) for name, is_drawn in names if name is not None]


def _optimized(definition: Any, fetches: Sequence[str], *, folds: bool) -> Any:
    """The graph as TensorFlow rewrites it before it runs it."""
    import tensorflow as tf
    from tensorflow.core.protobuf import config_pb2, meta_graph_pb2, rewriter_config_pb2
    from tensorflow.python.grappler import tf_optimizer

    # Fusing depends on the device; a step on a GPU is left as it is.
    device = "" if tf.config.list_physical_devices("GPU") else _CPU
    for node in _all_nodes(definition):  # loops and branches stay whole
        node.attr.pop("_lower_using_switch_merge", None)
        node.device = node.device or device
    whole = meta_graph_pb2.MetaGraphDef()
    whole.graph_def.CopyFrom(definition)
    whole.collection_def["train_op"].node_list.value.extend(fetches)
    config = config_pb2.ConfigProto()
    options = config.graph_options.rewrite_options
    options.min_graph_nodes = -1
    # Its result depends on the batch, which is another one here than in a training.
    options.memory_optimization = rewriter_config_pb2.RewriterConfig.NO_MEM_OPT
    if not folds:
        options.constant_folding = rewriter_config_pb2.RewriterConfig.OFF
    if any(_is_unreadable_if_fused(node) for node in _all_nodes(definition)):
        options.remapping = rewriter_config_pb2.RewriterConfig.OFF
    optimized: Any = tf_optimizer.OptimizeGraph(config, whole)
    for nodes in (each.node_def for each in optimized.library.function):
        for node in nodes:
            if _REORDERED in node.name:
                node.attr.pop("_output_shapes", None)
    return optimized


def _all_nodes(definition: Any) -> Iterator[Any]:
    yield from definition.node
    for each in definition.library.function:
        yield from each.node_def


def _is_unreadable_if_fused(node: Any) -> bool:
    """True if TensorFlow fuses an operation into one that it runs but does not import.

    WORKAROUND tensorflow `nn_ops.cc` (2.21): `_FusedConv2D` has no bfloat16, which oneDNN
    computes. Remove when it has.
    """
    import tensorflow as tf

    return node.op == "Conv2D" and node.attr["T"].type == tf.bfloat16.as_datatype_enum


_DEPTHWISE: Final = "_FusedDepthwiseConv2dNative"
_SHAPES: Final = ("Shape", "ShapeN", "Size", "Rank")
"""Operations that read no values, and vanish if the batch is known."""


def is_rewriting_refused(graph: Any) -> bool:
    """True if TensorFlow drops all that its rewriting did to a step of a known batch.

    WORKAROUND tensorflow `remapper.cc` (2.21, `ContractionWithBiasAddAndAdd`): a depthwise
    convolution whose bias and sum with a tensor of its shape are fused gets no kind of operation.
    The graph is invalid then and the step runs as it was made, with more in memory. Found with
    `export_run_metadata` on a CPU. Remove when TensorFlow names the operation.

    Args:
        graph: Rewritten with the batch open, where the sum is not fused, and imported for one.
    """
    for each in graph.get_operations():
        if each.type != _DEPTHWISE or list(each.get_attr("fused_ops")) != [b"BiasAdd"]:
            continue
        readers = [reader for reader in each.outputs[0].consumers() if reader.type not in _SHAPES]
        if len(readers) == 1 and readers[0].type in ("Add", "AddV2"):
            one, other = (given.shape for given in readers[0].inputs)
            if one.is_fully_defined() and one == other:
                return True
    return False


def _forget_traces() -> None:
    """Release graphs traced here: custom gradients would keep them until the process ends."""
    registry = find_internals().gradients
    for key, entry in dict(registry or {}).items():
        gradient = entry.get("type") if isinstance(entry, dict) else None
        if not isinstance(gradient, FunctionType) or not key.startswith(GRADIENT_PREFIX):
            continue
        values = closure_values(gradient)
        if registry is not None and any(_is_in_step_graph(value) for value in values):
            registry.pop(key, None)


def _is_in_step_graph(value: Any) -> bool:
    graph = getattr(value, "graph", None)
    while graph is not None and getattr(graph, "name", "") != _STEP:
        graph = getattr(graph, "outer_graph", None)  # a branch or a loop lies within
    return graph is not None


_SAME: Final = ("Identity", "StopGradient", "Cast", "EnsureShape")
_FEWER: Final = ("Less", "LessEqual")


def loop_trip_count(
    loop: Any, condition: Any, known: Mapping[tuple[int, str], int | None], graph_index: int
) -> int | None:
    """Turns of a loop, from what its condition compares; None where data decide.

    Args:
        condition: The graph that it runs before each turn.
        known: Turns of the loops before it, by index of the graph and name.
        graph_index: Index of the loop's graph.
    """
    arguments = {each.op.name: number for number, each in enumerate(condition.inputs)}
    values = []
    for operation in condition.get_operations():
        if operation.type in _FEWER:
            limit = _source(operation.inputs[1])
            if limit.op.name in arguments:
                limit = _source(loop.inputs[arguments[limit.op.name]])
            values.append(_value(limit, known, graph_index))
    limits = [each for each in values if each is not None and each >= 0]
    return min(limits, default=None)


def _value(
    tensor: Any, known: Mapping[tuple[int, str], int | None], graph_index: int
) -> int | None:
    import tensorflow as tf

    if tensor.op.type in ("While", "StatelessWhile"):
        return known.get((graph_index, tensor.op.name))
    value = tf.get_static_value(tensor)
    return None if value is None or value.size != 1 else int(value.reshape(()))


def _source(tensor: Any) -> Any:
    while tensor.op.type in _SAME:
        tensor = tensor.op.inputs[0]
    return tensor
