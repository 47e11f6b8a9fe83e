# pyright: basic
"""Layout of a Keras 3 model: variables, layers, and the calls with their tensors' shapes.

`read_layout` needs a model whose layers have their variables, which `check_is_built` checks. It
follows a functional model's graph without running it; of other models it lists the layers and
says why there are no calls. The model stays as it is, and code of the script runs only for other
shapes than the model's, in a process that was started for that.
"""

import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kmonitor_agent.frameworks.base import KerasModel
from kmonitor_agent.frameworks.global_state import preserve_name_counters
from kmonitor_agent.frameworks.model_building import lazy_imports_blocked
from kmonitor_agent.frameworks.model_facts import optimizer_name, read_fit_facts
from kmonitor_agent.frameworks.model_parts import (
    leaves_of,
    name_of,
    optimizer_variables,
    runs_only_known_code,
    settings_of,
    variable_dtype,
    variable_name,
    variable_path,
    variable_shape,
    weights_of,
    wrapped_optimizer,
)
from kmonitor_agent.frameworks.script_values import (
    class_attribute,
    class_module,
    class_name,
    instance_dict,
    is_instance,
    is_known_function,
    safe_getattr,
    safe_text,
)
from kmonitor_agent.wire.messages.model_layout import (
    CallLayout,
    LayerLayout,
    ModelLayout,
    OptimizerLayout,
    TensorLayout,
    VariableLayout,
)

_NOT_IN_THE_MODEL: Final = ("keras.", "keras_hub.", "tf_keras.")

_UNCOMPUTABLE: Final = (
    AttributeError, TypeError, ValueError, RuntimeError, NotImplementedError, KeyError
)  # fmt: skip


class WrongShape(Exception):
    """A model that does not take inputs of a shape.

    Attributes:
        why: The reason, as Keras gives it.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@lazy_imports_blocked()
@preserve_name_counters()  # symbolic tensors that are made to follow the shapes have names
def read_layout(
    model: KerasModel, shapes: Sequence[tuple[int | None, ...]] | None = None
) -> ModelLayout:
    """Layout of a Keras 3 model; the model itself stays as it is.

    Args:
        model: A built model; an optimizer's slots are listed if they exist.
        shapes: Shapes of its inputs, with the batch axis first; None: the model's own.

    Raises:
        WrongShape: The model does not accept inputs of these shapes.
    """
    reader = _Reader(runs_scripts_code=shapes is not None)
    reader.add_variables(model)
    why = reader.walk_model(model, shapes)
    facts = read_fit_facts(model)
    return ModelLayout(
        name=name_of(model),
        kind=class_name(type(model)),
        variables=tuple(reader.variables),
        layers=tuple(reader.layers),
        tensors=tuple(reader.tensors),
        calls=tuple(reader.calls),
        inputs=reader.inputs,
        outputs=reader.outputs,
        optimizer=_optimizer(model),
        precision=facts.dtype_policy or "float32",
        loss=facts.loss,
        has_metrics=instance_dict(model).get("_compile_metrics") is not None,
        backend=_backend(),
        jit_compile=facts.jit_compile,
        why_no_calls=why,
    )


def fit_layout(model: KerasModel) -> ModelLayout | None:
    """Layout of the model of a running fit; None for one that is not of Keras 3."""
    keras = sys.modules.get("keras")
    kind: Any = getattr(keras, "Model", None)
    if not isinstance(kind, type) or str(getattr(keras, "__version__", "")) < "3":
        return None
    return read_layout(model) if is_instance(model, kind) else None


class _Reader:
    """Collects a model's parts; each variable, layer and tensor gets an index in that order."""

    def __init__(self, *, runs_scripts_code: bool) -> None:
        self._runs_scripts_code = runs_scripts_code
        self.variables: list[VariableLayout] = []
        self.layers: list[LayerLayout] = []
        self.tensors: list[TensorLayout] = []
        self.calls: list[CallLayout] = []
        self.inputs: tuple[int, ...] = ()
        self.outputs: tuple[int, ...] = ()
        self._variable_indices: dict[int, int] = {}
        self._layer_indices: dict[int, int] = {}
        self._alive: list[dict[int, Any]] = []  # identities must not be given again

    def add_variables(self, model: KerasModel) -> None:
        for each, is_trained in weights_of(model):
            if not _is_of_seeds(each):
                self._variable_indices[id(each)] = len(self.variables)
                self.variables.append(_variable(each, is_trainable=is_trained))

    def walk_model(
        self, model: KerasModel, shapes: Sequence[tuple[int | None, ...]] | None
    ) -> str:
        """Follow a functional model's graph; of others list the layers and say why."""
        graph = _graph_of(model)
        if graph is None:
            self._list_layers(model)
            return (
                f"{class_name(type(model))} runs custom code: the activations that it keeps "
                "can only be measured, not estimated"
            )
        symbolic_inputs = _symbolic_inputs(graph, shapes)
        self.inputs = tuple(map(self._tensor, symbolic_inputs))
        outputs = self._walk(
            graph,
            symbolic_inputs,
            dict(zip(map(id, symbolic_inputs), self.inputs, strict=True)),
            "",
        )
        self.outputs = tuple(outputs)
        self._list_layers(model)
        return (
            ""
            if _trains_as_keras(model)
            else (
                f"{class_name(type(model))} has a custom train step: what it keeps beyond one"
                " pass is not counted"
            )
        )

    def _walk(
        self, graph: Any, inputs: list[Any], tensor_indices: dict[int, int], above: str
    ) -> list[int]:
        """Compute every tensor's shape in order; return indices of the outputs.

        `tensor_indices` has the index of each symbolic tensor, by identity.
        """
        new_tensors: dict[int, Any] = dict(zip(map(id, _inputs_of(graph)), inputs, strict=True))
        for node in _nodes(graph):
            operation = node.operation
            inner = _graph_of(operation)
            read = [new_tensors[id(each)] for each in node.arguments.keras_tensors]
            path = f"{above}{name_of(operation)}"
            if inner is not None and len(read) == len(_inputs_of(inner)):
                outs = self._walk(inner, read, tensor_indices, f"{path}/")
                # The same values under other names: a nested model has no tensors of its own.
                fresh = [_symbolic(self.tensors[index]) for index in outs]
                indices = outs
            else:
                fresh = self._outputs(node, new_tensors)
                indices = [self._tensor(each) for each in fresh]
                self.calls.append(
                    CallLayout(
                        layer=self._layer(operation, path),
                        inputs=tuple(tensor_indices[id(each)] for each in read),
                        outputs=tuple(indices),
                    )
                )
            for old, new, index in zip(node.outputs, fresh, indices, strict=True):
                new_tensors[id(old)] = new
                tensor_indices[id(new)] = index
        self._alive.append(new_tensors)
        outputs = instance_dict(graph)["_outputs"]
        return [tensor_indices[id(new_tensors[id(each)])] for each in outputs]

    def _outputs(self, node: Any, new_tensors: dict[int, Any]) -> list[Any]:
        if not (self._runs_scripts_code or runs_only_known_code(node.operation)):
            return _recorded(node)
        args, kwargs = node.arguments.fill_in(new_tensors)
        return _computed(node.operation, args, kwargs, node)

    def _tensor(self, tensor: Any) -> int:
        self.tensors.append(TensorLayout(tuple(tensor.shape), str(tensor.dtype)))
        return len(self.tensors) - 1

    def _layer(self, layer: Any, path: str) -> int:
        if id(layer) not in self._layer_indices:
            self._layer_indices[id(layer)] = len(self.layers)
            self.layers.append(_layer(layer, path, self._variable_indices))
        return self._layer_indices[id(layer)]

    def _list_layers(self, model: KerasModel) -> None:
        """List layers, also those without a known call, so that every variable has an owner."""
        for path, layer in leaves_of(model):
            if class_name(type(layer)) != "InputLayer":
                self._layer(layer, path)


def _graph_of(layer: Any) -> Any | None:
    """The functional graph of a model that has one and computes by it."""
    import keras

    is_list = is_instance(layer, keras.Sequential)
    inner = instance_dict(layer).get("_functional") if is_list else layer
    if not {"_nodes_by_depth", "_inputs"} <= instance_dict(inner).keys():
        return None
    return inner if _inputs_of(inner) and _is_of_keras(inner, "call") else None


def _inputs_of(graph: Any) -> list[Any]:
    return list(instance_dict(graph)["_inputs"])


def _is_of_keras(part: Any, method: str) -> bool:
    function = class_attribute(type(part), method)
    return is_known_function(function) and safe_text(
        safe_getattr(function, "__module__")
    ).startswith("keras.")


def _trains_as_keras(model: KerasModel) -> bool:
    return all(_is_of_keras(model, name) for name in ("train_step", "compute_loss"))


def _nodes(graph: Any) -> Iterator[Any]:
    by_depth = instance_dict(graph)["_nodes_by_depth"]  # the graph's order, as Keras computes it
    for depth in sorted(by_depth, reverse=True):
        for node in by_depth[depth]:
            if node.operation is not None and not node.is_input:
                yield node


def _symbolic_inputs(graph: Any, shapes: Sequence[tuple[int | None, ...]] | None) -> list[Any]:
    inputs = _inputs_of(graph)
    if shapes is None:
        return inputs
    if len(shapes) != len(inputs):
        raise WrongShape(f"the model has {len(inputs)} inputs, not {len(shapes)}")
    import keras

    tensors = []
    for shape, tensor in zip(shapes, inputs, strict=True):
        if len(shape) != len(tensor.shape):
            raise WrongShape(f"the input {tensor.name} has shape {tuple(tensor.shape)}")
        tensors.append(keras.KerasTensor(shape, dtype=tensor.dtype))
    return tensors


def _symbolic(tensor: TensorLayout) -> Any:
    import keras

    return keras.KerasTensor(tensor.shape, dtype=tensor.dtype)


def _recorded(node: Any) -> list[Any]:
    """Symbolic outputs of one call, as recorded when the model was created."""
    import keras

    return [keras.KerasTensor(each.shape, dtype=each.dtype) for each in node.outputs]


def _computed(operation: Any, args: Any, kwargs: Any, node: Any) -> list[Any]:
    """Symbolic outputs of one call; as recorded if the inputs are unchanged, or without inputs."""
    import keras

    inputs = [each for each in keras.tree.flatten((args, kwargs)) if hasattr(each, "shape")]
    is_recorded = _are_alike(inputs, node.arguments.keras_tensors) and _have_shapes(node.outputs)
    if is_recorded and not _opens(inputs, node.outputs):
        return _recorded(node)
    _check_inputs(operation, args)
    try:
        outputs = keras.tree.flatten(operation.compute_output_spec(*args, **kwargs))
    except _UNCOMPUTABLE as exc:
        if not _are_alike(inputs, node.arguments.keras_tensors):
            raise WrongShape(f"{operation.name}: {exc}") from exc
        outputs = list(node.outputs)
    tensors = [each for each in outputs if hasattr(each, "shape")]
    if len(tensors) != len(node.outputs):
        tensors = list(node.outputs)
    if _opens(inputs, tensors):
        tensors = _as_called(operation, args, kwargs, tensors)
    # Some operations return the very tensor that they were given.
    return [keras.KerasTensor(each.shape, dtype=each.dtype) for each in tensors]


def _opens(inputs: Sequence[Any], outputs: Sequence[Any]) -> bool:
    """True if outputs have open lengths though all inputs have theirs."""
    return not any(None in each.shape[1:] for each in inputs) and any(
        None in each.shape[1:] for each in outputs
    )


def _as_called(operation: Any, args: Any, kwargs: Any, outputs: list[Any]) -> list[Any]:
    """Symbolic outputs by the call itself: some layers' `compute_output_spec` leaves lengths open.

    EinsumDense does so with an `output_shape` that has a None.
    """
    import keras

    if not class_module(type(operation)).startswith(_NOT_IN_THE_MODEL):
        return outputs  # a user's own code is not called
    try:
        specs = keras.tree.flatten(keras.Operation.compute_output_spec(operation, *args, **kwargs))
    except _UNCOMPUTABLE:
        return outputs
    tensors = [each for each in specs if hasattr(each, "shape")]
    if len(tensors) != len(outputs):
        return outputs
    pairs = zip(tensors, outputs, strict=True)
    return [keras.KerasTensor(each.shape, dtype=old.dtype) for each, old in pairs]


def _are_alike(inputs: Sequence[Any], recorded: Sequence[Any]) -> bool:
    return [(tuple(each.shape), str(each.dtype)) for each in inputs] == [
        (tuple(each.shape), str(each.dtype)) for each in recorded
    ]


def _have_shapes(tensors: Sequence[Any]) -> bool:
    return all(hasattr(each, "shape") for each in tensors)


def _check_inputs(operation: Any, args: Any) -> None:
    """Check the inputs like a call: shapes that the layer's weights were created for."""
    import keras

    specs = keras.tree.flatten(getattr(operation, "input_spec", None))
    first = [each for each in keras.tree.flatten(args[:1]) if hasattr(each, "shape")]
    if len(specs) != len(first):
        return
    for spec, tensor in zip(specs, first, strict=True):
        for axis, length in (getattr(spec, "axes", None) or {}).items():
            actual = tensor.shape[int(axis)]
            if length is not None and actual is not None and int(length) != int(actual):
                raise WrongShape(
                    f"{operation.name} was built for {length} values along axis {axis}, not"
                    f" {actual}"
                )


def _layer(layer: Any, path: str, variables: dict[int, int]) -> LayerLayout:
    own = [id(each) for each, _ in weights_of(layer)]
    kind = type(layer)
    return LayerLayout(
        path=path,
        kind=class_name(kind),
        variables=tuple(variables[each] for each in own if each in variables),
        settings=settings_of(layer),
        is_trainable=instance_dict(layer).get("_trainable", True) is not False,
        is_own=not class_module(kind).startswith(_NOT_IN_THE_MODEL),
    )


def _variable(variable: Any, *, is_trainable: bool = True) -> VariableLayout:
    return VariableLayout(
        path=variable_path(variable),
        shape=variable_shape(variable) or (),
        dtype=variable_dtype(variable),
        is_trainable=is_trainable,
    )


def _is_of_seeds(variable: Any) -> bool:
    return "seed_generator_state" in variable_name(variable)


def _optimizer(model: KerasModel) -> OptimizerLayout | None:
    optimizer = instance_dict(model).get("optimizer")
    if optimizer is None:
        return None
    inner = wrapped_optimizer(optimizer)
    base_optimizer = inner if inner is not None else optimizer
    slots = None
    if instance_dict(base_optimizer).get("built"):
        slots = tuple(_variable(each) for each in optimizer_variables(optimizer))
    return OptimizerLayout(
        kind=optimizer_name(base_optimizer),
        settings=settings_of(base_optimizer),
        slots=slots,
        loss_scaling=inner is not None,
    )


def _backend() -> str:
    import keras

    return str(keras.backend.backend())


class ModelNotBuilt(Exception):
    """A model that was never called, so that some layers have no variables yet.

    Attributes:
        why: The reason and the remedy, as text.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def check_is_built(model: KerasModel) -> None:
    """Check that a model's layers have their variables; the model stays as it is.

    Raises:
        ModelNotBuilt: Layers lack variables, even if `build` marked the model itself as built.
    """
    if getattr(model, "built", False) and (_was_passed_through(model) or not _waits(model)):
        return
    raise ModelNotBuilt(
        f"the model {model.name} has no shapes yet: call it on an Input first, for example, "
        "model(keras.Input((200,))), with the shape of one example"
    )


def _was_passed_through(model: Any) -> bool:
    """True if a model was called or has inputs: layers without variables are then unused."""
    return bool(getattr(model, "_called", True) or getattr(model, "inputs", None))


def _waits(model: Any) -> bool:
    """True if a layer has yet to create its variables; layers without variables need no build."""
    within = model._flatten_layers(include_self=False)  # noqa: SLF001 - layers of layers too
    return any(
        not each.built and not getattr(type(each).build, "_is_default", False) for each in within
    )
