"""The calls of a model's layers in order, as the configuration in its file tells them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from kmonitor.memory.model_files.output_shapes import CannotTell, Shape, output_shape
from kmonitor_agent.wire.messages.model_layout import TensorLayout

MODELS: Final = ("Functional", "Sequential", "Model")
_KEEPS_DTYPE: Final = (
    "Flatten", "Reshape", "Permute", "RepeatVector", "Concatenate", "Identity", "ZeroPadding1D",
    "ZeroPadding2D", "Cropping1D", "Cropping2D", "GetItem",
)  # fmt: skip
_STATES: Final = {"LSTM": 2, "GRU": 1, "SimpleRNN": 1}
_COMPUTED: Final = {"mixed_float16": "float16", "mixed_bfloat16": "bfloat16"}
_DEEPEST: Final = 32

Config = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Called:
    """One use of a layer.

    Attributes:
        path: The layer's, with those of the models that it is nested in.
        config: The layer's object in the file.
        inputs: Tensors read, as places in the list.
        outputs: Tensors made.
    """

    path: str
    config: Config
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(slots=True)
class FileGraph:
    """What was found.

    Attributes:
        tensors: Those between layers.
        calls: In the order of computing.
        inputs: Tensors that come in.
        outputs: Tensors that go out.
    """

    tensors: list[TensorLayout] = field(default_factory=list[TensorLayout])
    calls: list[Called] = field(default_factory=list[Called])
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()

    def add(self, shape: Shape, dtype: str) -> int:
        """A new tensor; its place."""
        self.tensors.append(TensorLayout(tuple(shape), dtype))
        return len(self.tensors) - 1


def read_graph(model: Config, weights: Mapping[str, Sequence[Shape]]) -> FileGraph:
    """A model's calls.

    Args:
        model: Its object in the file.
        weights: Shapes of each layer's variables, by its path.

    Raises:
        CannotTell: It is of a kind, or has a layer at its end, that is not known here.
    """
    graph = FileGraph()
    walker = _Walker(graph, weights)
    graph.inputs = tuple(graph.add(*each) for each in walker.inputs_of(model))
    graph.outputs = tuple(walker.walk(model, list(graph.inputs), "", 0))
    return graph


def compute_dtype(config: Config) -> str:
    """That a layer computes in, by its policy; empty if it has none."""
    told: Any = config.get("dtype")
    if isinstance(told, dict):
        told = cast("dict[str, Any]", cast("dict[str, Any]", told).get("config") or {}).get("name")
    if not isinstance(told, str):
        return ""
    return _COMPUTED.get(told, told)


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

    def walk(self, model: Config, given: list[int], above: str, depth: int) -> list[int]:
        """Add a model's calls; places of its outputs."""
        if depth > _DEEPEST:
            raise CannotTell("models nested without end")
        wanted = [tuple(shape) for shape, _ in self.inputs_of(model)]
        shapes = [self._graph.tensors[each].shape for each in given]
        if wanted != shapes:
            raise CannotTell("a model that is called with other shapes than it was made for")
        if model["class_name"] == "Sequential":
            return self._chain(model["config"], given, above, depth)
        return self._functional(model["config"], given, above, depth)

    def _chain(self, config: Config, given: list[int], above: str, depth: int) -> list[int]:
        layers = [each for each in config["layers"] if each["class_name"] != "InputLayer"]
        current = given
        for place, layer in enumerate(layers):
            path = f"{above}{layer['config']['name']}"
            if layer["class_name"] in MODELS:
                current = self.walk(layer, current, f"{path}/", depth + 1)
                continue
            following: Config = layers[place + 1] if place + 1 < len(layers) else {}
            shape = self._made(layer, path, current, _built_with(following))
            made = self._graph.add(shape, self._dtype(layer, current))
            self._graph.calls.append(Called(path, layer, tuple(current), (made,)))
            current = [made]
        return current

    def _functional(self, config: Config, given: list[int], above: str, depth: int) -> list[int]:
        layers = {each["name"]: each for each in config["layers"]}
        outputs = [
            (name, place - (layers[name]["class_name"] in ("Functional", "Model")), index)
            for name, place, index in _references(config["output_layers"])
        ]
        names = [name for name, _, _ in _references(config["input_layers"])]
        places: dict[tuple[str, int, int], int] = {
            (name, 0, 0): place for name, place in zip(names, given, strict=True)
        }
        nodes = {
            (name, n): list(_tensors(node))
            for name, layer in layers.items()
            for n, node in enumerate(layer.get("inbound_nodes", ()))
        }
        told: dict[_Node, dict[int, TensorLayout]] = {}
        for read in nodes.values():
            for key, tensor in read:
                told.setdefault(key[:2], {})[key[2]] = tensor
        for name, n in _ordered(nodes, outputs):
            layer, path = layers[name], f"{above}{name}"
            read = [places[key] for key, _ in nodes[name, n]]
            if layer["class_name"] in MODELS:
                made = self.walk(layer, read, f"{path}/", depth + 1)
            else:
                made = self._call(layer, path, read, told.get((name, n), {}))
            places.update(((name, n, index), each) for index, each in enumerate(made))
        return [places[key] for key in outputs]

    def _call(
        self,
        layer: Config,
        path: str,
        read: list[int],
        known: Mapping[int, TensorLayout],
    ) -> list[int]:
        """Add one call; `known` has the outputs that the file tells, by their index."""
        config, kind = layer["config"], layer["class_name"]
        count = max(known, default=0) + 1
        if config.get("return_state"):
            count = 1 + _STATES.get(kind, -count)
        made: list[int] = []
        if self._opens(read, known.values()):
            raise CannotTell(f"lengths that {kind} makes, which the file says to be open")
        for index in range(count):
            if index in known:
                made.append(self._graph.add(known[index].shape, known[index].dtype))
            elif index == 0:
                plain = {**layer, "config": {**config, "return_state": False}}
                shape = self._made(plain, path, read, None)
                made.append(self._graph.add(shape, self._dtype(layer, read)))
            else:
                batch = self._graph.tensors[read[0]].shape[0]
                shape = (batch, int(config["units"]))
                made.append(self._graph.add(shape, self._dtype(layer, read)))
        if not made:
            raise CannotTell(f"what {kind} makes")
        self._graph.calls.append(Called(path, layer, tuple(read), tuple(made)))
        return made

    def _opens(self, read: list[int], known: Iterable[TensorLayout]) -> bool:
        """Whether lengths are said to be open though all that is read has its lengths."""
        given = [self._graph.tensors[each].shape for each in read]
        return not any(None in each[1:] for each in given) and any(
            None in each.shape[1:] for each in known
        )

    def _made(self, layer: Config, path: str, read: list[int], otherwise: Shape | None) -> Shape:
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


def _input(layer: Config) -> tuple[Shape, str]:
    config = layer["config"]
    shape = config.get("batch_shape") or config.get("batch_input_shape")
    if layer["class_name"] != "InputLayer" or shape is None:
        raise CannotTell("the shape of its input")
    return tuple(shape), str(config.get("dtype") or "float32")


def _built_with(layer: Config) -> Shape | None:
    """The shape that a layer was built for."""
    told: Any = cast("dict[str, Any]", layer.get("build_config") or {}).get("input_shape")
    if not isinstance(told, list) or not told:
        return None
    found = cast("list[Any]", told)
    is_flat = all(each is None or isinstance(each, int) for each in found)
    return tuple(found) if is_flat else None


def _references(told: Any) -> Iterator[tuple[str, int, int]]:
    """Tensors by the layer's name, its call and the output, out of lists and mappings of them."""
    if isinstance(told, dict):
        for each in cast("dict[str, Any]", told).values():
            yield from _references(each)
    elif isinstance(told, list):
        found = cast("list[Any]", told)
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
            name, place, index = config["keras_history"]
            yield (
                (str(name), int(place), int(index)),
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
    """Calls as Keras orders them: by how many follow, then as they are met from the outputs."""
    met = _met(nodes, [(name, n) for name, n, _ in outputs])
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


def _met(
    nodes: Mapping[_Node, list[tuple[tuple[str, int, int], TensorLayout]]], ends: Sequence[_Node]
) -> list[_Node]:
    """Every call behind those that it reads from."""
    done: dict[_Node, None] = {}
    begun: set[_Node] = set()
    waiting = [(node, False) for node in reversed(ends)]
    while waiting:
        node, is_done = waiting.pop()
        if is_done:
            done[node] = None
        elif node in nodes and node not in done:
            if node in begun:
                raise CannotTell("a graph that goes round in circles")
            begun.add(node)
            waiting.append((node, True))
            waiting += [(key[:2], False) for key, _ in reversed(nodes[node])]
    return list(done)
