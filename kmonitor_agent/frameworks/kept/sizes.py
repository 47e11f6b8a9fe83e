# pyright: basic
"""Memory that a value of the script takes: arrays, tensors, tables, and their containers.

No code of the script's runs. Arrays are read by numpy's own descriptors, tensors and tables only
where their class is the framework's own. Memory that several objects share counts once.
"""

import math
import sys
import weakref
from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any, Final

from kmonitor_agent.frameworks.kept.buffers import (
    bytes_of_buffer,
    bytes_of_number,
    bytes_of_scalar,
    bytes_with_object,
    is_native,
)
from kmonitor_agent.frameworks.kept.containers import container_base, newest_items
from kmonitor_agent.frameworks.kept.contents import held_by
from kmonitor_agent.frameworks.kept.tensorflow_parts import (
    current_shape,
    dataset_tensors,
    is_recording,
)
from kmonitor_agent.frameworks.kept.torch_graphs import GraphReader
from kmonitor_agent.frameworks.model_parts import weights_of
from kmonitor_agent.frameworks.script_values import (
    class_bases,
    class_module,
    class_name,
    class_package,
    instance_dict,
    is_exactly,
    is_instance,
    is_known_class,
    items_of,
    own_attributes,
    safe_getattr,
)

KERAS_MODEL: Final = "keras.Model"
"""Kind of a model; the size of one that was called by Keras is unknown: beside its variables it
keeps traces and compiled steps."""

DATASET: Final = "tf.data.Dataset"
"""Kind of a data set, whose size is that of the tensors it was made from, if these are large."""

_LEAST_TENSORS: Final = 2**20
_LEAST_VARIABLES: Final = 2**22
"""Minimum size of a data set's tensors and of a model's variables, bytes, beside which the rest of
them is small: up to a mebibyte for a trace of `predict` or `evaluate`."""


WITH_GRAPH: Final = "torch.Tensor with graph"
"""Kind of a tensor that keeps the operations it was computed by, with what these saved."""


COPIED_MAP: Final = "numpy.memmap"
"""Kind of an array in a memory map opened copy-on-write, whose pages take memory once written to.
"""

TRACED_FUNCTION: Final = "tf.function"
"""Kind of a function of TensorFlow; the size of its traces is unknown, that of its closure is not.
"""


class _NoFinalizer:
    """Stands for that class in a Python that has another."""


FINALIZER: Final[Any] = own_attributes(weakref.finalize).get("_Info", _NoFinalizer)
"""Class of what `weakref.finalize` keeps of a call: function and arguments."""

_NODE_BYTES: Final = 100
"""Approximate size of an object without its contents, bytes."""

_SAMPLE: Final = 16
"""Number of items of a container that represent all."""

_NODES: Final = 400
"""Maximum number of objects visited to measure one."""


@dataclass(frozen=True, slots=True)
class ObjectSize:
    """An array, tensor or table, or a native object that cannot be measured.

    Attributes:
        kind: "numpy.ndarray", "torch.Tensor with graph", "matplotlib.Figure", ...
        n_bytes: Size, bytes; None if unknown.
        memory: Key that is the same for all objects that use the same memory.
        shape: Shape as text; empty if there is none.
        dtype: Name of its element type; empty if there is none.
        is_on_device: True if the memory is on a GPU.
        has_objects: True if it refers to objects of Python, such as texts, that `n_bytes` does
            not contain.
        base: Shape of the array of whose memory it uses a part only, and which it keeps alive;
            empty: it uses its own, or most of it.
        is_part: True if it stands for objects that hold such an array or tensor beside others.
    """

    kind: str
    n_bytes: int | None
    memory: int
    shape: str = ""
    dtype: str = ""
    is_on_device: bool = False
    has_objects: bool = False
    base: str = ""
    is_part: bool = False


def size_of(value: Any) -> ObjectSize | None:
    """Size of an array, tensor, table, figure or data set; None for anything else."""
    kind: Any = type(value)
    if is_exactly(value, int, float, bool, str, list, dict, tuple, set, FunctionType):
        return None
    for base in class_bases(kind):
        read = _READERS.get((class_module(base).partition(".")[0], class_name(base)))
        if read is not None:
            try:
                return _with_object(read(value))
            except Exception:  # noqa: BLE001 - deleted, on a device that is gone, of another version
                return None
    return None


def _with_object(size: ObjectSize | None) -> ObjectSize | None:
    if size is None or not size.n_bytes or size.is_on_device:
        return size
    return replace(size, n_bytes=bytes_with_object(size.n_bytes, size.kind))


def has_graph(value: Any) -> bool:
    """True for a tensor of PyTorch that keeps a graph."""
    size = size_of(value)
    return size is not None and size.kind == WITH_GRAPH


def grows_in_place(value: Any) -> bool:
    """True for a tensor with a graph, and for a memory map whose pages are copied."""
    size = size_of(value)
    return size is not None and size.kind in {WITH_GRAPH, COPIED_MAP}


def hold_arrays(containers: Iterable[Any]) -> bool:
    """True if the newest item of one of these containers is an array or the like."""
    try:
        return any(size_of(item) for each in containers for item in newest_items(each, 1))
    except RuntimeError:  # another thread changed it meanwhile
        return False


def with_graph_bytes(size: ObjectSize, graph_bytes: float | None) -> ObjectSize:
    """The tensor as what takes its memory: alone if its graph takes less than itself.

    Without a graph it would be as large: to detach it would not help.

    Args:
        size: A tensor with a graph.
        graph_bytes: Size of its graph; None: unknown.
    """
    is_small = graph_bytes is not None and graph_bytes < (size.n_bytes or 0)
    return replace(size, kind="torch.Tensor") if is_small else size


def _array(value: Any) -> ObjectSize | None:
    numpy: Any = sys.modules.get("numpy")
    if not is_instance(value, numpy.ndarray):
        return None
    fields = own_attributes(numpy.ndarray)
    owner = value
    base = fields["base"].__get__(value)
    while is_instance(base, numpy.ndarray):
        owner, base = base, fields["base"].__get__(base)
    n_bytes = fields["nbytes"].__get__(owner)
    if class_name(type(base)) == "mmap":
        n_bytes = 0  # pages of a file
        if _is_copied_map(owner):
            return ObjectSize(COPIED_MAP, 0, id(base))
    shape = str(tuple(fields["shape"].__get__(value)))
    # The owner of the memory distinguishes two arrays that were made of it.
    lender = owner if base is None else base
    dtype = fields["dtype"].__get__(value)
    is_view = n_bytes >= _LEAST_BASE * max(1, fields["nbytes"].__get__(value))
    return ObjectSize(
        "numpy.ndarray",
        n_bytes,
        id(lender),
        shape,
        dtype.name,
        has_objects=dtype.hasobject,
        base=str(tuple(fields["shape"].__get__(owner))) if is_view else "",
    )


def _is_copied_map(array: Any) -> bool:
    """True for an array of `numpy.memmap` that was opened copy-on-write."""
    numpy: Any = sys.modules.get("numpy")
    is_map = type(array) is instance_dict(numpy).get("memmap")
    return is_map and instance_dict(array).get("mode") == "c"


_LEAST_BASE: Final = 2
"""Size of an array from which a view is said to keep it alive, as a multiple of the view's."""

_WITHOUT_SIZE: Final = frozenset({"resource", "variant", "string"})


def _tensorflow_tensor(value: Any) -> ObjectSize | None:
    if class_package(type(value)) != "tensorflow":
        return None
    shape = (
        tuple(value.shape.as_list()) if value.shape.is_fully_defined() else current_shape(value)
    )
    dtype = value.dtype
    n_bytes = 0 if dtype.name in _WITHOUT_SIZE else math.prod(shape) * dtype.size
    is_on_device = "GPU" in str(value.device)
    return ObjectSize(
        "tensorflow.Tensor", n_bytes, id(value), str(shape), dtype.name, is_on_device
    )


def _torch_tensor(value: Any) -> ObjectSize | None:
    torch: Any = sys.modules.get("torch")
    if not is_known_class(type(value)) or torch._C._len_torch_function_stack():  # noqa: SLF001
        return None  # the script's code runs for each attribute
    storage = value.untyped_storage()
    kind = "torch.Tensor" if value.grad_fn is None else WITH_GRAPH
    dtype = str(value.dtype).rpartition(".")[2]
    size = max(1, value.element_size())
    is_view = storage.nbytes() >= _LEAST_BASE * size * max(1, value.numel())
    return ObjectSize(
        kind,
        storage.nbytes(),
        storage._cdata,  # noqa: SLF001 - its address; no other name for it
        str(tuple(value.shape)),
        dtype,
        value.device.type != "cpu",
        base=f"({storage.nbytes() // size},)" if is_view else "",
    )


def _jax_array(value: Any) -> ObjectSize | None:
    if not is_known_class(type(value)):
        return None
    n_bytes = 0 if value.is_deleted() else value.nbytes
    is_on_device = any(device.platform != "cpu" for device in value.devices())
    return ObjectSize(
        "jax.Array", n_bytes, id(value), str(tuple(value.shape)), value.dtype.name, is_on_device
    )


def _keras_variable(value: Any) -> ObjectSize | None:
    fields = instance_dict(value)
    shape = fields.get("_shape")
    dtype = fields.get("_dtype")
    if type(shape) is not tuple or type(dtype) is not str:
        return None
    bits = int("".join(filter(str.isdigit, dtype)) or 8)
    n_bytes = math.prod(shape) * bits // 8
    return ObjectSize("keras.Variable", n_bytes, id(value), str(shape), dtype)


def _table(value: Any) -> ObjectSize | None:
    if not is_known_class(type(value)):
        return None
    manager = safe_getattr(value, "_mgr")
    arrays = [each for block in manager.blocks for each in _column_arrays(block.values)]
    sizes = [size for size in map(_array, arrays) if size is not None]
    n_bytes = sum(size.n_bytes or 0 for size in sizes)
    n_bytes += sum(each.nbytes for each in arrays if class_package(type(each)) == "pyarrow")
    has_objects = any(size.has_objects for size in sizes)
    shape = str(tuple(reversed(manager.shape)))
    kind = f"pandas.{class_name(type(value))}"
    return ObjectSize(kind, n_bytes, id(manager), shape, has_objects=has_objects)


def _column_arrays(values: Any) -> list[Any]:
    """Arrays that hold columns of one element type; those of other libraries have their bytes."""
    numpy: Any = sys.modules.get("numpy")
    if is_instance(values, numpy.ndarray):
        return [values]
    if not is_known_class(type(values)):
        return []
    arrow = safe_getattr(values, "_pa_array")
    if class_package(type(arrow)) == "pyarrow":
        return [arrow]
    # Dates, categories and texts are in one array, numbers that may be missing in two.
    arrays = [safe_getattr(values, name) for name in ("_ndarray", "_data", "_mask")]
    return [each for each in arrays if is_instance(each, numpy.ndarray)]


def _referred_objects(value: Any) -> list[tuple[Any, float]]:
    """Objects that an array or a table refers to, a sample with the factor to all of them.

    If at most half of a sample are different objects, the others are taken to be those too.
    """
    numpy: Any = sys.modules.get("numpy")
    if not is_instance(value, numpy.ndarray):
        blocks = safe_getattr(value, "_mgr").blocks
        arrays = [each for block in blocks for each in _column_arrays(block.values)]
        arrays = [each for each in arrays if is_instance(each, numpy.ndarray)]
        return [one for each in arrays for one in _referred_objects(each)]
    fields = own_attributes(numpy.ndarray)
    n = fields["size"].__get__(value)
    if not n or not fields["dtype"].__get__(value).hasobject:
        return []
    places = range(0, n, -(-n // _SAMPLE))
    flat = fields["flat"].__get__(value)
    different = {id(each): each for each in (flat[place] for place in places)}
    factor = n / len(places) if 2 * len(different) > len(places) else 1.0
    return [(each, factor) for each in different.values()]


def attached_arrays(value: Any, size: ObjectSize) -> list[Any]:
    """Arrays and tensors in the attributes that were set on a tensor, which keeps them alive.

    Keras sets `_keras_logits` on what a softmax or sigmoid returns: its argument, as large again.
    """
    if size.kind not in _HAVE_ATTRIBUTES:
        return []
    return [each for each in list(instance_dict(value).values()) if size_of(each) is not None]


_HAVE_ATTRIBUTES: Final = frozenset({"tensorflow.Tensor", "torch.Tensor", WITH_GRAPH})


def _native(kind: str) -> Callable[[Any], ObjectSize]:
    def read(value: Any) -> ObjectSize:
        return ObjectSize(kind, None, id(value))

    return read


def _tape(value: Any) -> ObjectSize | None:
    # It keeps tensors where only TensorFlow's own code can read them.
    return ObjectSize("tf.GradientTape", None, id(value)) if is_recording(value) else None


_READERS: Final[dict[tuple[str, str], Callable[[Any], ObjectSize | None]]] = {
    ("numpy", "ndarray"): _array,
    ("tensorflow", "EagerTensor"): _tensorflow_tensor,
    ("tensorflow", "BaseResourceVariable"): _tensorflow_tensor,
    ("torch", "Tensor"): _torch_tensor,
    ("jaxlib", "ArrayImpl"): _jax_array,
    ("jax", "ArrayImpl"): _jax_array,
    ("keras", "Variable"): _keras_variable,
    ("pandas", "DataFrame"): _table,
    ("pandas", "Series"): _table,
    ("matplotlib", "Figure"): _native("matplotlib.Figure"),
    ("tensorflow", "PolymorphicFunction"): _native(TRACED_FUNCTION),
    ("tensorflow", "GradientTape"): _tape,
    ("tensorflow", "DatasetV2"): _native(DATASET),
    ("tensorflow", "IteratorBase"): _native("tf.data.Iterator"),
}
"""Readers by package and class name."""


@dataclass(slots=True)
class TreeSize:
    """Size of an object with everything that it alone holds.

    Attributes:
        n_bytes: Size of the parts that could be measured, bytes.
        largest: The largest array, tensor or table within; None if there is none.
        largest_bytes: Size of `largest`, bytes; after `join`, the sum over the joined objects.
        sized_bytes: Size of all arrays, tensors and tables within, bytes.
        native: The first object within that cannot be measured; None if there is none.
        whole: The first model or data set within that was measured; None if there is none.
        has_unknown: True if `n_bytes` is without an object of a library's compiled code.
    """

    n_bytes: float = 0.0
    largest: ObjectSize | None = None
    largest_bytes: float = 0.0
    sized_bytes: float = 0.0
    native: ObjectSize | None = None
    whole: ObjectSize | None = None
    has_unknown: bool = False

    def add(self, size: ObjectSize, scale: float) -> None:
        """Add an array, tensor, table or native object, scaled."""
        if size.n_bytes is None:
            self.native = self.native or size
            return
        n_bytes = scale * size.n_bytes
        self.n_bytes += n_bytes
        self.sized_bytes += n_bytes
        if n_bytes > self.largest_bytes:
            self.largest = size
            self.largest_bytes = n_bytes

    def join(self, other: "TreeSize") -> None:
        self.n_bytes += other.n_bytes
        self.sized_bytes += other.sized_bytes
        self.native = self.native or other.native
        self.whole = self.whole or other.whole
        self.has_unknown = self.has_unknown or other.has_unknown
        self.largest_bytes += other.largest_bytes
        self.largest = other.largest or self.largest


class SizeReader:
    """Adds up the contents of objects; memory that was seen before counts to another object.

    Owned by one walk: it identifies objects by their `id`, which is valid during the walk only.
    """

    def __init__(self) -> None:
        self.seen: set[int] = set()
        self.n_visited = 0
        self.graphs = GraphReader()
        self._newest_operation = -1
        self._are_native: dict[int, bool] = {}  # by class

    def is_new(self, size: ObjectSize) -> bool:
        """True if this memory was not seen before; marks it as seen."""
        is_new = size.memory not in self.seen
        self.seen.add(size.memory)
        return is_new

    def new_arrays(self, values: Iterable[Any]) -> tuple[list[ObjectSize], int]:
        """Arrays and the like that were not seen before, and their size, bytes.

        The size includes the tensors that are attached to them.
        """
        found: list[ObjectSize] = []
        n_bytes = 0
        for value in values:
            size = size_of(value)
            if size is None or not self.is_new(size):
                continue
            found.append(size)
            attached = map(size_of, attached_arrays(value, size))
            parts = [size, *(each for each in attached if each is not None and self.is_new(each))]
            n_bytes += sum(each.n_bytes or 0 for each in parts)
        return found, n_bytes

    def newest_graph_bytes(self, values: Iterable[Any]) -> float | None:
        """Size of the graph that the newest tensor with one added; None as below."""
        return self.graph_bytes(*[each for each in values if has_graph(each)][:-3:-1])

    def graph_bytes(self, tensor: Any, earlier: Any = None) -> float | None:
        """Size of a graph without the operations that were there with an earlier tensor's.

        None if PyTorch does not report them, or too many were read.

        Args:
            tensor: A tensor with a graph.
            earlier: The tensor before it; None: the one that was read last.
        """
        n_before = self.graphs.n_read
        after = self._newest_operation if earlier is None else self.graphs.number_of(earlier)
        graph = self.graphs.added_to(tensor, after)
        self.n_visited += self.graphs.n_read - n_before
        if graph is None:
            return None
        self._newest_operation = graph.newest
        return graph.n_bytes

    def tree(self, value: Any, apart: Collection[int] = ()) -> TreeSize:
        """Size of an object with its contents.

        Long containers are estimated from their newest items.

        Args:
            value: The object.
            apart: Identities of objects that are no contents of it.
        """
        total = TreeSize()
        waiting: deque[tuple[Any, float]] = deque([(value, 1.0)])
        nodes = 0
        while waiting and nodes < _NODES:
            each, scale = waiting.popleft()
            nodes += 1
            if is_exactly(each, int, float, bool, type(None)):
                total.n_bytes += scale * bytes_of_number(each)
                continue
            if id(each) in self.seen or (id(each) in apart and each is not value):
                continue
            size = size_of(each)
            if size is not None:
                items = self._add_sized(total, each, size, scale)
                waiting.extend((item, scale * of_all) for item, of_all in items)
            self.seen.add(id(each))
            if size is not None and size.kind != TRACED_FUNCTION:
                continue
            if is_keras_model(type(each)):
                nodes += self._add_model(total, each, scale)
                continue
            total.n_bytes += scale * _own_bytes(each)
            total.has_unknown = total.has_unknown or self._is_native(each)
            held, of_all = held_by(each)
            waiting.extend((item, scale * of_all) for item in held)
        self.n_visited += nodes
        return total

    def _is_native(self, value: Any) -> bool:
        kind: Any = type(value)
        known = self._are_native.get(id(kind))
        if known is None:
            known = is_native(kind) and container_base(value) is None
            self._are_native[id(kind)] = known
        return known

    def _add_sized(
        self, total: TreeSize, value: Any, size: ObjectSize, scale: float
    ) -> list[tuple[Any, float]]:
        """Add an array or the like; returns objects of Python that it refers to, with factors."""
        if size.kind == DATASET:
            self._add_whole(total, size, scale, dataset_tensors(value), _LEAST_TENSORS)
        elif self.is_new(size):
            if size.kind == WITH_GRAPH:
                graph_bytes = self.graph_bytes(value)
                n_bytes = (size.n_bytes or 0) + round(graph_bytes or 0.0)
                size = replace(with_graph_bytes(size, graph_bytes), n_bytes=n_bytes)
            total.add(size, scale)
            held = [(each, 1.0) for each in attached_arrays(value, size)]
            return held + (_referred_objects(value) if size.has_objects else [])
        return []

    def _add_model(self, total: TreeSize, model: Any, scale: float) -> int:
        """Add a model; returns the number of its variables."""
        fields = instance_dict(model)
        variables = _model_variables(model, fields)
        size = ObjectSize(KERAS_MODEL, None, id(model))
        least = _LEAST_VARIABLES if _has(fields, _TRACES) else 0
        self._add_whole(total, size, scale, variables, math.inf if _has(fields, _STEPS) else least)
        return len(variables)

    def _add_whole(
        self, total: TreeSize, whole: ObjectSize, scale: float, parts: list[Any], least: float
    ) -> None:
        """Add the parts of an object; it counts as measured if they have a minimum size."""
        sizes = [size for size in map(size_of, parts) if size is not None and self.is_new(size)]
        self.seen.update(map(id, parts))
        self.seen.add(whole.memory)
        for size in sizes:
            total.add(size, scale)
        if sum(size.n_bytes or 0 for size in sizes) >= least:
            total.whole = total.whole or whole
        else:
            total.add(whole, scale)


def _own_bytes(value: Any) -> int:
    base = container_base(value)
    if base in _HASHED:
        return base.__sizeof__(value)
    if is_instance(value, type):
        return type.__sizeof__(value)
    if base is list:
        return _LIST_BYTES
    return bytes_of_buffer(value) or bytes_of_scalar(value) or _NODE_BYTES


_LIST_BYTES: Final = 80
"""Size of a list without the pointers to its items, which count with them."""

_HASHED: Final = (dict, set, frozenset)
"""Containers whose tables take more than a pointer for each item."""


def is_keras_model(kind: type) -> bool:
    """True for a model's class of Keras 3 or tf_keras, and for one that derives from it."""
    return any(
        class_name(base) == "Model" and class_package(base) in {"keras", "tf_keras"}
        for base in class_bases(kind)
    )


_STEPS: Final = ("train_function", "train_tf_function")
"""Attributes of a model with its compiled training step, which takes many mebibytes."""

_TRACES: Final = ("test_function", "predict_function")


def _has(fields: dict[str, Any], names: Iterable[str]) -> bool:
    return any(fields.get(name) is not None for name in names)


def _model_variables(model: Any, fields: dict[str, Any]) -> list[Any]:
    weights = [weight for weight, _ in weights_of(model)]
    return weights + items_of(instance_dict(fields.get("optimizer")).get("_variables"))
