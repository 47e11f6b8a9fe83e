"""Layout of the model in a `.keras` file, read without a framework and without running its code.

`_Layout` joins the configuration with the arrays in the HDF5 file; `read_graph` lists the calls
between layers in the order in which Keras makes them.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from kmonitor.memory.model_files.archive import WEIGHTS, read_archive
from kmonitor.memory.model_files.hdf5 import Dataset, Hdf5Contents, read_hdf5
from kmonitor.memory.model_files.inspection import chosen_backend, policy_name
from kmonitor.memory.model_files.output_shapes import CannotTell, Shape, output_shape
from kmonitor_agent.wire.messages.model_layout import (
    CallLayout,
    ConfigValue,
    LayerLayout,
    ModelLayout,
    OptimizerLayout,
    TensorLayout,
    VariableLayout,
)

Config = Mapping[str, Any]

MODELS: Final = ("Functional", "Sequential", "Model")


def layout_of_file(path: Path) -> ModelLayout:
    """Return a model's layers and variables, with the shapes of its tensors.

    Raises:
        UserError: The file is damaged or no `.keras` file.
        CannotTell: The model has parts whose meaning only a framework knows.
    """
    archive = read_archive(path)
    if WEIGHTS not in archive.members:
        raise CannotTell("weights outside an HDF5 file")
    try:
        return _Layout(archive.config, read_hdf5(path, WEIGHTS)).read()
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as exc:
        raise CannotTell(f"its configuration ({type(exc).__name__}: {exc})") from exc


@dataclass(frozen=True, slots=True)
class Called:
    """One use of a layer.

    Attributes:
        path: Path of the layer, after those of the enclosing models.
        config: The layer's object in the file.
        inputs: Input tensors, as indices into the graph's list.
        outputs: Output tensors, as such indices.
    """

    path: str
    config: Config
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(slots=True)
class FileGraph:
    """Calls of a model's layers.

    Attributes:
        calls: Calls in the order of computing.
    """

    tensors: list[TensorLayout] = field(default_factory=list[TensorLayout])
    calls: list[Called] = field(default_factory=list[Called])
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()

    def add(self, shape: Shape, dtype: str) -> int:
        """Add a tensor; return its index."""
        self.tensors.append(TensorLayout(tuple(shape), dtype))
        return len(self.tensors) - 1


_OPTIMIZER: Final = "optimizer"
_GENERATOR: Final = re.compile(r"(^|/)\w*generator(_\d+)?/vars/\d+$")
_STATISTICS: Final = re.compile(r"(^|/)batch_normalization(_\d+)?$")
_NEVER_TRAINED: Final = ("Normalization", "SpectralNormalization")
_ALIASES: Final = {"GroupQueryAttention": "GroupedQueryAttention"}
"""Names under which Keras saves a class with another name."""

_WRAPPED: Final = ("layer", "cell")
_PUNISHES: Final = "_regularizer"
_NOT_OWN: Final = ("keras.", "keras_hub.")
_UNUSUAL: Final = re.compile(r"int8|int4|float8|gptq|awq")


class _Layout:
    """Joins the configuration and the arrays."""

    def __init__(self, config: Config, contents: Hdf5Contents) -> None:
        if config.get("class_name") not in MODELS or "layers" not in config.get("config", {}):
            raise CannotTell("a model with custom code")
        self._config = config
        self._contents = contents
        self._arrays = sorted(
            (
                each
                for each in contents.datasets
                if each.path.partition("/")[0] != _OPTIMIZER and not _GENERATOR.search(each.path)
            ),
            key=lambda each: each.path,
        )
        self._owned: set[str] = set()
        self._variables: list[VariableLayout] = []
        self._variable_indices: dict[str, tuple[int, ...]] = {}
        self._policies: list[str] = []
        self._layers: dict[str, LayerLayout] = {}

    def read(self) -> ModelLayout:
        self._read_layers(self._config, "", "", is_trained=True)
        if len(self._owned) != len(self._arrays):
            raise CannotTell("weights that do not belong to any layer")
        shapes = {
            path: [self._variables[each].shape for each in indices]
            for path, indices in self._variable_indices.items()
        }
        graph = read_graph(self._config, shapes)
        return self._layout_of(graph)

    def _layout_of(self, graph: FileGraph) -> ModelLayout:
        compiled: dict[str, Any] = self._config.get("compile_config") or {}
        operations = {each.path: _layer(each.path, each.config, ()) for each in graph.calls}
        layers = {**operations, **self._layers}
        numbers = {path: n for n, path in enumerate(layers)}
        jit = compiled.get("jit_compile")
        return ModelLayout(
            name=str(self._config["config"].get("name", "")),
            kind=str(self._config["class_name"]),
            variables=tuple(self._variables),
            layers=tuple(layers.values()),
            tensors=tuple(graph.tensors),
            calls=tuple(
                CallLayout(numbers[each.path], each.inputs, each.outputs) for each in graph.calls
            ),
            inputs=graph.inputs,
            outputs=graph.outputs,
            optimizer=self._optimizer(compiled.get("optimizer")),
            precision=self._precision(),
            loss=", ".join(_names(compiled.get("loss"))),
            has_metrics=bool(compiled.get("metrics") or compiled.get("weighted_metrics")),
            backend=chosen_backend(),
            jit_compile=jit if isinstance(jit, bool) else None,
        )

    def _read_layers(self, model: Config, path: str, group: str, *, is_trained: bool) -> None:
        config = model["config"]
        groups = self._groups_in(f"{group}layers/")
        is_trained = is_trained and config.get("trainable", True) is not False
        for layer in config["layers"]:
            name = str(layer["config"].get("name") or layer["name"])
            kind = layer["class_name"]
            if kind == "InputLayer" or _is_operation(layer):
                continue
            if name not in groups:
                raise CannotTell(f"a layer {name} whose weights are elsewhere")
            inner = groups[name]
            if kind in MODELS and "layers" in layer["config"]:
                self._read_layers(layer, f"{path}{name}/", f"{inner}/", is_trained=is_trained)
            else:
                self._read_layer(layer, f"{path}{name}", inner, is_trained=is_trained)

    def _groups_in(self, prefix: str) -> dict[str, str]:
        """Groups of the layers directly below, by name of the layer."""
        found: dict[str, str] = {}
        for key, name in self._contents.attributes.items():
            group_path, _, attribute = key.partition("@")
            if (
                attribute == "name"
                and group_path.startswith(prefix)
                and group_path.endswith("/vars")
            ):
                group = group_path.removesuffix("/vars")
                if "/" not in group[len(prefix) :]:
                    found[name] = group
        return found

    def _read_layer(self, layer: Config, path: str, group: str, *, is_trained: bool) -> None:
        config = layer["config"]
        _refuse_unusual(layer, config)
        is_trained = is_trained and config.get("trainable", True) is not False
        inner = next((config[name] for name in _WRAPPED if _is_object(config.get(name))), None)
        is_inner_trained = inner is None or inner["config"].get("trainable", True) is not False
        arrays = self._arrays_in(group)
        counts: dict[str, int] = {}
        for each in arrays:
            group_path = each.path.rpartition("/vars/")[0]
            counts[group_path] = counts.get(group_path, 0) + 1
        first = len(self._variables)
        for each in sorted(arrays, key=_dataset_order):
            group_path, _, number = each.path.rpartition("/vars/")
            is_own = group_path == group
            kind = layer["class_name"] if is_own else inner["class_name"] if inner else ""
            is_last = int(number) >= counts[group_path] - 2
            holds = kind == "BatchNormalization" or (not is_own and _STATISTICS.search(group_path))
            self._owned.add(each.path)
            if kind == "SpectralNormalization" and int(number) < counts[group_path] - 1:
                continue  # the wrapped layer's, once more
            trained = is_trained and (is_own or is_inner_trained)
            trained = trained and not (holds and is_last) and kind not in _NEVER_TRAINED
            self._variables.append(
                self._variable(each, f"{path}{each.path[len(group) :]}", trained)
            )
        self._variable_indices[path] = tuple(range(first, len(self._variables)))
        self._policies += [_policy(config)] if arrays else []
        self._layers[path] = _layer(path, layer, self._variable_indices[path])

    def _arrays_in(self, group: str) -> list[Dataset]:
        first = bisect_left(self._arrays, f"{group}/", key=lambda each: each.path)
        # "0" is the character behind "/".
        last = bisect_left(self._arrays, f"{group}0", key=lambda each: each.path)
        return self._arrays[first:last]

    def _variable(self, array: Dataset, path: str, is_trained: bool) -> VariableLayout:  # noqa: FBT001
        dtype = self._contents.attributes.get(f"{array.path}@dtype", array.dtype)
        return VariableLayout(path.replace("/vars/", "/"), array.shape, dtype, is_trained)

    def _precision(self) -> str:
        found = [each for each in self._policies if each]
        return max(sorted(set(found)), key=found.count) if found else "float32"

    def _optimizer(self, config: Any) -> OptimizerLayout | None:
        if isinstance(config, str):
            return OptimizerLayout(config)
        if not _is_object(config):
            return None
        inner = config["config"].get("inner_optimizer")
        is_wrapped = _is_object(inner)
        chosen = inner if is_wrapped else config
        # One that wraps another has that one's among its own.
        own = f"{_OPTIMIZER}/vars/"
        arrays = [each for each in self._contents.datasets if each.path.startswith(own)]
        # Counters alone are of one that has made no slots yet, or never makes any.
        is_built = any(each.shape for each in arrays)
        slots = tuple(self._variable(each, each.path, is_trained=True) for each in arrays)
        return OptimizerLayout(
            kind=str(chosen["class_name"]),
            settings=_plain(chosen["config"]),
            slots=slots if is_built else None,
            loss_scaling=is_wrapped,
        )


def _is_object(value: Any) -> bool:
    found = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    return "class_name" in found and isinstance(found.get("config"), dict)


def _is_operation(layer: Config) -> bool:
    return str(layer.get("module") or "").startswith("keras.src.ops")


def _dataset_order(array: Dataset) -> tuple[str, int]:
    group_path, _, number = array.path.rpartition("/vars/")
    return group_path, int(number)


def _refuse_unusual(layer: Config, config: Config) -> None:
    if config.get("lora_rank") or _UNUSUAL.search(_policy(config)):
        raise CannotTell(f"the weights of {layer['class_name']} with {_policy(config) or 'LoRA'}")


def _policy(config: Config) -> str:
    return policy_name(config.get("dtype"))


def _layer(path: str, layer: Config, variables: tuple[int, ...]) -> LayerLayout:
    module = layer.get("module") or ""
    return LayerLayout(
        path=path,
        kind=_ALIASES.get(layer["class_name"], str(layer["class_name"])),
        variables=variables,
        settings=_settings(layer["config"]),
        is_trainable=layer["config"].get("trainable", True) is not False,
        is_own=not str(module).startswith(_NOT_OWN) and module != "keras",
    )


def _settings(config: Config) -> dict[str, ConfigValue]:
    """Plain settings, and flags for regularizers.

    Settings of a wrapped layer are added under their own names.
    """
    found = _plain(config)
    found |= {name: True for name in config if name.endswith(_PUNISHES) and config[name]}
    activation: Any = config.get("activation")
    if isinstance(activation, dict):
        activation_config = cast("dict[str, Any]", activation)
        named = activation_config.get("config")
        found["activation"] = (
            named if isinstance(named, str) else str(activation_config.get("class_name"))
        )
    for name in _WRAPPED:
        inner: Any = config.get(name)
        if _is_object(inner):
            return {**found, **_settings(inner["config"]), "wraps": str(inner["class_name"])}
    return found


def _plain(config: Config) -> dict[str, ConfigValue]:
    return {
        name: value
        for name, value in config.items()
        if value is None or isinstance(value, bool | int | float | str)
    }


def _names(value: Any) -> Iterator[str]:
    """Names in a loss: texts, objects, and lists or mappings of them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from _names(each)
    elif isinstance(value, dict):
        mapping = cast("Mapping[str, Any]", value)
        if "class_name" in mapping:
            inner: Any = mapping.get("config")
            if isinstance(inner, dict):
                inner = cast("dict[str, Any]", inner).get("name")
            yield str(inner or mapping["class_name"])
        else:
            for name, each in mapping.items():
                yield f"{name}: {', '.join(_names(each))}"


def read_graph(model: Config, weights: Mapping[str, Sequence[Shape]]) -> FileGraph:
    """Return a model's calls.

    Args:
        model: The model's object in the file.
        weights: Shapes of each layer's variables, by path.

    Raises:
        CannotTell: The kind of the model, or of a layer at its end, is not known here.
    """
    graph = FileGraph()
    walker = _Walker(graph, weights)
    graph.inputs = tuple(graph.add(*each) for each in walker.inputs_of(model))
    graph.outputs = tuple(walker.walk(model, list(graph.inputs), "", 0))
    return graph


_KEEPS_DTYPE: Final = (
    "Flatten", "Reshape", "Permute", "RepeatVector", "Concatenate", "Identity", "ZeroPadding1D",
    "ZeroPadding2D", "Cropping1D", "Cropping2D", "GetItem",
)  # fmt: skip
_STATES: Final = {"LSTM": 2, "GRU": 1, "SimpleRNN": 1}
_DEEPEST: Final = 32


class _Walker:
    def __init__(self, graph: FileGraph, weights: Mapping[str, Sequence[Shape]]) -> None:
        self._graph = graph
        self._weights = weights

    def inputs_of(self, model: Config) -> list[tuple[Shape, str]]:
        config = model["config"]
        if model["class_name"] == "Sequential":
            first: Config = config["layers"][0] if config["layers"] else {}
            if first.get("class_name") == "InputLayer":
                return [_input(first)]
            if "config" in first and first["class_name"] in MODELS:
                return self.inputs_of(first)
            shape = config.get("build_input_shape")
            if shape is None or (shape and isinstance(shape[0], list)):
                raise CannotTell("the shape of its input")
            return [(tuple(shape), "float32")]
        by_name = {each["name"]: each for each in config["layers"]}
        return [_input(by_name[name]) for name, _, _ in _references(config["input_layers"])]

    def walk(self, model: Config, inputs: list[int], above: str, depth: int) -> list[int]:
        """Add a model's calls; return indices of its outputs."""
        if depth > _DEEPEST:
            raise CannotTell("infinitely nested models")
        wanted = [tuple(shape) for shape, _ in self.inputs_of(model)]
        shapes = [self._graph.tensors[each].shape for each in inputs]
        if wanted != shapes:
            raise CannotTell("a model called with shapes other than those it was built for")
        if model["class_name"] == "Sequential":
            return self._chain(model["config"], inputs, above, depth)
        return self._functional(model["config"], inputs, above, depth)

    def _chain(self, config: Config, inputs: list[int], above: str, depth: int) -> list[int]:
        layers = [each for each in config["layers"] if each["class_name"] != "InputLayer"]
        current = inputs
        for index, layer in enumerate(layers):
            path = f"{above}{layer['config']['name']}"
            if layer["class_name"] in MODELS:
                current = self.walk(layer, current, f"{path}/", depth + 1)
                continue
            following: Config = layers[index + 1] if index + 1 < len(layers) else {}
            shape = self._output_shape(layer, path, current, _built_with(following))
            output = self._graph.add(shape, self._dtype(layer, current))
            self._graph.calls.append(Called(path, layer, tuple(current), (output,)))
            current = [output]
        return current

    def _functional(self, config: Config, inputs: list[int], above: str, depth: int) -> list[int]:
        layers = {each["name"]: each for each in config["layers"]}
        outputs = [
            (name, call_index - (layers[name]["class_name"] in ("Functional", "Model")), index)
            for name, call_index, index in _references(config["output_layers"])
        ]
        names = [name for name, _, _ in _references(config["input_layers"])]
        tensor_by_output: dict[tuple[str, int, int], int] = {
            (name, 0, 0): call_index for name, call_index in zip(names, inputs, strict=True)
        }
        nodes = {
            (name, n): list(_tensors(node))
            for name, layer in layers.items()
            for n, node in enumerate(layer.get("inbound_nodes", ()))
        }
        known_outputs: dict[_Node, dict[int, TensorLayout]] = {}
        for read in nodes.values():
            for key, tensor in read:
                known_outputs.setdefault(key[:2], {})[key[2]] = tensor
        for name, n in _ordered(nodes, outputs):
            layer = layers[name]
            path = f"{above}{name}"
            read = [tensor_by_output[key] for key, _ in nodes[name, n]]
            if layer["class_name"] in MODELS:
                produced = self.walk(layer, read, f"{path}/", depth + 1)
            else:
                produced = self._call(layer, path, read, known_outputs.get((name, n), {}))
            tensor_by_output.update(
                ((name, n, index), each) for index, each in enumerate(produced)
            )
        return [tensor_by_output[key] for key in outputs]

    def _call(
        self,
        layer: Config,
        path: str,
        read: list[int],
        known: Mapping[int, TensorLayout],
    ) -> list[int]:
        """Add one call; `known` has the outputs that the file describes, by index."""
        config = layer["config"]
        kind = layer["class_name"]
        count = max(known, default=0) + 1
        if config.get("return_state"):
            count = 1 + _STATES.get(kind, -count)
        outputs: list[int] = []
        if self._opens(read, known.values()):
            raise CannotTell(f"lengths that are computed by {kind} and not given in the file")
        for index in range(count):
            if index in known:
                outputs.append(self._graph.add(known[index].shape, known[index].dtype))
            elif index == 0:
                plain = {**layer, "config": {**config, "return_state": False}}
                shape = self._output_shape(plain, path, read, None)
                outputs.append(self._graph.add(shape, self._dtype(layer, read)))
            else:
                batch = self._graph.tensors[read[0]].shape[0]
                shape = (batch, int(config["units"]))
                outputs.append(self._graph.add(shape, self._dtype(layer, read)))
        if not outputs:
            raise CannotTell(f"the output of {kind}")
        self._graph.calls.append(Called(path, layer, tuple(read), tuple(outputs)))
        return outputs

    def _opens(self, read: list[int], known: Iterable[TensorLayout]) -> bool:
        """True if the file leaves lengths open although those of all inputs are known."""
        shapes = [self._graph.tensors[each].shape for each in read]
        return not any(None in each[1:] for each in shapes) and any(
            None in each.shape[1:] for each in known
        )

    def _output_shape(
        self, layer: Config, path: str, read: list[int], otherwise: Shape | None
    ) -> Shape:
        shapes = [self._graph.tensors[each].shape for each in read]
        weights = self._weights.get(path, ())
        try:
            return output_shape(layer["class_name"], layer["config"], shapes, weights)
        except CannotTell:
            if otherwise is None:
                raise
            return otherwise

    def _dtype(self, layer: Config, read: list[int]) -> str:
        before = self._graph.tensors[read[0]].dtype
        computed = compute_dtype(layer["config"]) or before
        is_float = before.startswith(("float", "bfloat"))
        return before if layer["class_name"] in _KEEPS_DTYPE and not is_float else computed


_COMPUTED: Final = {"mixed_float16": "float16", "mixed_bfloat16": "bfloat16"}


def compute_dtype(config: Config) -> str:
    """Dtype in which a layer computes, by its policy; empty if it has none."""
    name = _policy(config)
    return _COMPUTED.get(name, name)


def _input(layer: Config) -> tuple[Shape, str]:
    config = layer["config"]
    shape = config.get("batch_shape") or config.get("batch_input_shape")
    if layer["class_name"] != "InputLayer" or shape is None:
        raise CannotTell("the shape of its input")
    return tuple(shape), str(config.get("dtype") or "float32")


def _built_with(layer: Config) -> Shape | None:
    """Shape that a layer was built for; None if unknown."""
    input_shape: Any = cast("dict[str, Any]", layer.get("build_config") or {}).get("input_shape")
    if not isinstance(input_shape, list) or not input_shape:
        return None
    found = cast("list[Any]", input_shape)
    is_flat = all(each is None or isinstance(each, int) for each in found)
    return tuple(found) if is_flat else None


def _references(node: Any) -> Iterator[tuple[str, int, int]]:
    """Layer name, call and output of each tensor in nested lists and mappings."""
    if isinstance(node, dict):
        for each in cast("dict[str, Any]", node).values():
            yield from _references(each)
    elif isinstance(node, list):
        found = cast("list[Any]", node)
        if len(found) == 3 and isinstance(found[0], str):  # noqa: PLR2004 - see above
            yield found[0], int(found[1]), int(found[2])
        else:
            for each in found:
                yield from _references(each)


def _tensors(node: Any) -> Iterator[tuple[tuple[str, int, int], TensorLayout]]:
    """Tensors in a call's arguments, in order."""
    if isinstance(node, dict):
        found = cast("dict[str, Any]", node)
        if found.get("class_name") == "__keras_tensor__":
            config = found["config"]
            name, call_index, index = config["keras_history"]
            yield (
                (str(name), int(call_index), int(index)),
                TensorLayout(tuple(config["shape"]), str(config["dtype"])),
            )
        else:
            for each in found.values():
                yield from _tensors(each)
    elif isinstance(node, list):
        for each in cast("list[Any]", node):
            yield from _tensors(each)


_Node = tuple[str, int]


def _ordered(
    nodes: Mapping[_Node, list[tuple[tuple[str, int, int], TensorLayout]]],
    outputs: Sequence[tuple[str, int, int]],
) -> list[_Node]:
    """Calls in Keras' order: by number of followers, then by discovery from the outputs."""
    met = _depth_first_order(nodes, [(name, n) for name, n, _ in outputs])
    depths: dict[_Node, int] = {}
    of_layer: dict[str, int] = {}
    for node in reversed(met):
        depth = max(depths.setdefault(node, 0), of_layer.get(node[0], 0))
        of_layer[node[0]] = depths[node] = depth
        for key, _ in nodes[node]:
            before = key[:2]
            if before in nodes:
                depths[before] = max(depth + 1, depths.get(before, 0))
    return sorted(depths, key=lambda node: -depths[node])


def _depth_first_order(
    nodes: Mapping[_Node, list[tuple[tuple[str, int, int], TensorLayout]]], ends: Sequence[_Node]
) -> list[_Node]:
    """All calls, each after those that it reads from."""
    finished: dict[_Node, None] = {}
    started: set[_Node] = set()
    waiting = [(node, False) for node in reversed(ends)]
    while waiting:
        node, is_finished = waiting.pop()
        if is_finished:
            finished[node] = None
        elif node in nodes and node not in finished:
            if node in started:
                raise CannotTell("a graph that contains a cycle")
            started.add(node)
            waiting.append((node, True))
            waiting += [(key[:2], False) for key, _ in reversed(nodes[node])]
    return list(finished)
