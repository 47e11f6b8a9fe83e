# pyright: basic
"""Facts about a Keras model: how it is compiled and fitted, its layers, weights and slots.

Read from public attributes, and batch size and sequence length from the frame of its `fit`. What
cannot be read is left out: attributes may be the script's own and raise anything.
"""

import contextlib
import itertools
import math
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from kmonitor_agent.call_stacks import frame_locals
from kmonitor_agent.frameworks.base import FitFacts, KerasModel, ModelDescription
from kmonitor_agent.frameworks.global_state import preserve_name_counters, preserve_random_state
from kmonitor_agent.frameworks.script_values import safe_bool, safe_count, safe_getattr, safe_text
from kmonitor_agent.wire.messages.events import LayerFacts, SlotFacts
from kmonitor_agent.wire.messages.readings import Reading

_UNREADABLE: Final = Exception
"""Raised by a property that cannot be read: by Keras' own, when nothing is there, a TypeError or
RuntimeError; by those of a script's own layer, model or optimizer anything."""

_KERAS: Final = ("keras", "tf_keras")
_FIT_FRAMES: Final = 40
"""How many callers up `fit` is looked for: callback, list of callbacks, traceback filter."""

_LONGEST_PIPELINE: Final = 50
_LONGEST_LIST: Final = 100_000
"""Layers or weights of one model."""

_ITEM_BYTES: Final = {
    "bool": 1,
    "int8": 1,
    "uint8": 1,
    "float16": 2,
    "bfloat16": 2,
    "int16": 2,
    "uint16": 2,
    "float64": 8,
    "int64": 8,
    "uint64": 8,
}


def read_fit_facts(model: KerasModel) -> FitFacts:
    """How a model is compiled, and its data's sizes if its `fit` is among our callers."""
    optimizer = safe_getattr(model, "optimizer")
    jit_compile = safe_getattr(model, "jit_compile")
    batch_size, sequence_length = _of_data(model)
    return FitFacts(
        model=safe_text(safe_getattr(model, "name", "")),
        batch_size=safe_count(batch_size),
        steps_per_execution=_steps_per_execution(model),
        optimizer=optimizer_name(optimizer),
        learning_rate=read_learning_rate(model).value,
        jit_compile=jit_compile if type(jit_compile) is bool else None,
        run_eagerly=safe_bool(safe_getattr(model, "run_eagerly")),
        dtype_policy=_policy_name(model),
        loss=_loss_text(safe_getattr(model, "loss")),
        is_built=safe_bool(safe_getattr(model, "built", otherwise=True))
        and safe_bool(safe_getattr(optimizer, "built", otherwise=True)),
        sequence_length=safe_count(sequence_length),
    )


def optimizer_name(optimizer: Any) -> str:
    """Class name; of a loss-scaling wrapper also what it wraps; empty without an optimizer."""
    if optimizer is None:
        return ""
    name = type(optimizer).__name__
    inner = safe_getattr(optimizer, "inner_optimizer")
    return f"{name}({type(inner).__name__})" if inner is not None else name


def _steps_per_execution(model: KerasModel) -> int:
    # tf_keras keeps a variable, of a strategy's own kind under one.
    for name in ("steps_per_execution", "_steps_per_execution"):
        steps = safe_getattr(model, name)
        try:
            if steps is not None:
                return safe_count(int(steps.numpy() if hasattr(steps, "numpy") else steps)) or 1
        except _UNREADABLE:
            continue
    return 1


def _policy_name(model: KerasModel) -> str:
    return safe_text(safe_getattr(safe_getattr(model, "dtype_policy"), "name", ""))


def _loss_text(loss: Any) -> str:
    try:
        return safe_text(_loss_name(loss))
    except _UNREADABLE:
        return type(loss).__name__


def _loss_name(loss: Any) -> str:
    if loss is None:
        return ""
    if isinstance(loss, str):
        return loss
    if isinstance(loss, dict):
        return ", ".join(f"{safe_text(key)}: {_loss_text(value)}" for key, value in loss.items())
    if isinstance(loss, list | tuple):
        return ", ".join(_loss_text(value) for value in loss)
    return str(getattr(loss, "name", None) or getattr(loss, "__name__", type(loss).__name__))


def _of_data(model: KerasModel) -> tuple[int | None, int | None]:
    """Batch size and sequence length."""
    # Keras 3 gives callbacks no batch size. `fit` and its data adapter know it.
    frame = sys._getframe(1)  # noqa: SLF001 - documented in CPython for this use
    for _ in range(_FIT_FRAMES):
        if frame is None:
            break
        if frame.f_code.co_name == "fit":
            with frame_locals(frame) as fit_locals:
                if fit_locals.get("self") is model:
                    return _batch_size_in(fit_locals), _sequence_length_in(model, fit_locals)
        frame = frame.f_back
    return None, None


def _batch_size_in(fit_locals: Mapping[str, Any]) -> int | None:
    try:
        data = fit_locals.get("epoch_iterator") or fit_locals.get("data_handler")
        adapter = getattr(data, "data_adapter", None) or getattr(data, "_adapter", None)
        batch_size = adapter.batch_size if adapter is not None else fit_locals.get("batch_size")
        batch_size = batch_size() if callable(batch_size) else batch_size
        if batch_size is None:
            batch_size = _batch_size_of(getattr(adapter, "_dataset", None))
        return int(batch_size) if batch_size is not None else None
    except _UNREADABLE:
        return None


def _batch_size_of(dataset: Any) -> int | None:
    """Batch size of a `tf.data` pipeline whose last batch may be smaller."""
    for _ in range(_LONGEST_PIPELINE):
        size = getattr(dataset, "_batch_size", None)
        if size is not None:
            return int(size.numpy() if hasattr(size, "numpy") else size)
        if dataset is None or type(dataset).__name__ == "_UnbatchDataset":
            return None
        dataset = getattr(dataset, "_input_dataset", None)
    return None


def _sequence_length_in(model: KerasModel, fit_locals: Mapping[str, Any]) -> int | None:
    try:
        return sequence_length_of(model, fit_locals)
    except Exception:  # noqa: BLE001 - the script's own data: what they raise is not ours to know
        return None


def sequence_length_of(model: Any, fit_locals: Mapping[str, Any]) -> int | None:
    """The one length that every batch of a fit has wherever the model's inputs name none.

    Read off arrays and the element types of data sets; nothing is taken of the data.

    Args:
        model: That is fitted.
        fit_locals: Names of its `fit`, of which `x` is read.

    Returns:
        None where the model leaves nothing open, lengths differ, or the data do not say.
    """
    inputs = _flat(getattr(model, "inputs", None))
    data = _first(fit_locals.get("x"))
    tensors = _by_name(inputs, data) if isinstance(data, dict) else _flat(data)
    if not inputs or len(tensors) != len(inputs):
        return None
    lengths: set[int | None] = set()
    for wanted, have in zip(inputs, tensors, strict=True):
        shapes = [tuple(getattr(each, "shape", None) or ()) for each in (wanted, have)]
        if len(shapes[0]) != len(shapes[1]):
            return None
        pairs = zip(shapes[0][1:], shapes[1][1:], strict=True)
        lengths |= {length for axis, length in pairs if axis is None}
    only = lengths.pop() if len(lengths) == 1 else None
    return int(only) if only else None


def _first(data: Any) -> Any:
    """Inputs of the model, of data that may have targets and weights too."""
    element = getattr(data, "element_spec", data)
    return element[0] if element is not data and isinstance(element, tuple) else element


def _flat(data: Any) -> list[Any]:
    if data is None:
        return []
    return list(data) if isinstance(data, list | tuple) else [data]


def _by_name(inputs: Sequence[Any], data: dict[str, Any]) -> list[Any]:
    return [data[name] for each in inputs if (name := getattr(each, "name", "")) in data]


def read_learning_rate(model: KerasModel) -> Reading:
    """The optimizer's learning rate now, schedules evaluated, or why it cannot be read."""
    optimizer = safe_getattr(model, "optimizer")
    if optimizer is None:
        return Reading.missing("1", "the model has no optimizer")
    try:
        with schedule_effects_undone(optimizer):
            rate = optimizer.learning_rate
            value = float(rate.numpy() if hasattr(rate, "numpy") else rate)
    except _UNREADABLE as exc:
        return Reading.missing("1", f"the optimizer does not tell it ({type(exc).__name__})")
    return learning_rate_reading(value)


@contextlib.contextmanager
def schedule_effects_undone(optimizer: Any) -> Generator[None]:
    """For reading the learning rate: calling a schedule counts names, and one may draw."""
    rate = getattr(optimizer, "_learning_rate", None)
    is_scripts = callable(rate) and type(rate).__module__.partition(".")[0] not in _KERAS
    with (
        preserve_name_counters(),
        preserve_random_state() if is_scripts else contextlib.nullcontext(),
    ):
        yield


def learning_rate_reading(value: float) -> Reading:
    """A learning rate as a reading."""
    if not math.isfinite(value):
        return Reading.missing("1", "it is not finite")
    return Reading(value, "1", "keras: the optimizer's learning rate")


def read_description(model: KerasModel) -> ModelDescription:
    """Layers, weights and optimizer slots; each shared weight is counted once."""
    seen: set[int] = set()
    layers = _readable(
        _layer_facts(path, layer, seen) for path, layer in _flat_layers(model, "", set())
    )
    rest = [w for w in _list(model, "weights") if id(w) not in seen]
    slots = _readable(_slots(model))
    return ModelDescription(
        name=safe_text(safe_getattr(model, "name", "")),
        kind=type(model).__name__,
        layers=layers,
        parameters=sum(facts.parameters for facts in layers) + _elements(rest),
        parameter_bytes=sum(facts.parameter_bytes for facts in layers) + _bytes(rest),
        slots=slots,
        slot_bytes=sum(slot.n_bytes for slot in slots),
    )


def _readable(facts: Iterable[Any]) -> tuple[Any, ...]:
    """As many as can be read."""
    readable: list[Any] = []
    with contextlib.suppress(_UNREADABLE):
        readable.extend(facts)
    return tuple(readable)


def _flat_layers(model: KerasModel, prefix: str, above: set[int]) -> Iterator[tuple[str, Any]]:
    for layer in _list(model, "layers"):
        path = prefix + safe_text(safe_getattr(layer, "name", type(layer).__name__))
        if _list(layer, "layers") and id(layer) not in above:
            yield from _flat_layers(layer, f"{path}/", above | {id(layer)})
        else:
            yield path, layer


def _layer_facts(path: str, layer: Any, seen: set[int]) -> LayerFacts:
    weights = [w for w in _list(layer, "weights") if id(w) not in seen]
    seen.update(id(w) for w in weights)
    trained = {id(w) for w in _list(layer, "trainable_weights")}
    return LayerFacts(
        name=path[:4096],
        kind=type(layer).__name__[:200],
        output_shape=_output_shape(layer)[:4096],
        dtype=_dtype_text(layer)[:200],
        parameters=_elements(weights),
        trainable_parameters=_elements(w for w in weights if id(w) in trained),
        parameter_bytes=_bytes(weights),
    )


def _dtype_text(layer: Any) -> str:
    dtype = safe_getattr(layer, "compute_dtype")
    return "" if dtype is None else safe_text(dtype)


def _output_shape(layer: Any) -> str:
    try:
        output = layer.output
        if isinstance(output, list | tuple):
            return ", ".join(str(tuple(part.shape)) for part in output if hasattr(part, "shape"))
        return str(tuple(output.shape)) if hasattr(output, "shape") else ""
    except _UNREADABLE:
        return ""


def _slots(model: KerasModel) -> Iterator[SlotFacts]:
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        return
    weights = {_path(weight).replace("/", "_") for weight in _list(model, "weights")}
    kinds: dict[str, list[Any]] = {}
    named: Any = getattr(optimizer, "get_slot_names", None)
    names = frozenset(named()) if named is not None else frozenset()
    for variable in variables_of(optimizer):
        kinds.setdefault(_slot_kind(variable, weights, names), []).append(variable)
    for kind, variables in kinds.items():
        yield SlotFacts(name=kind[:200], n=len(variables), n_bytes=_bytes(variables))


def _path(weight: Any) -> str:
    # Asked of its class: an attribute that a variable of a strategy lacks is looked for in its
    # value, which all workers sum up together (batch normalization's means), or none. Up to
    # Keras 3.6 it is a plain attribute.
    has_path = hasattr(type(weight), "path") or "path" in getattr(weight, "__dict__", ())
    return str(weight.path if has_path else weight.name)


def _slot_kind(variable: Any, weights: set[str], slots: frozenset[str]) -> str:
    # Keras 3 names a slot "<weight's path with _>_<slot>"; tf_keras "Adam/m/<weight>:0", and its
    # optimizers of before TensorFlow 2.11 "Adam/<weight>/m:0".
    name = str(variable.name)
    name_fields = name.split("_")
    for cut in range(len(name_fields) - 1, 0, -1):
        if "_".join(name_fields[:cut]) in weights:
            return "_".join(name_fields[cut:])
    path_fields = name.partition(":")[0].split("/")
    if slots:
        return path_fields[-1]
    return path_fields[1] if len(path_fields) > 2 else path_fields[-1]  # noqa: PLR2004 - optimizer/slot/weight


def _list(owner: Any, name: str) -> list[Any]:
    try:
        values: Any = getattr(owner, name, ())
        if isinstance(values, str | bytes | bytearray):
            return []
        # What a script put there may be data, or go on for ever.
        return list(itertools.islice(values, _LONGEST_LIST))
    except _UNREADABLE:
        return []


def variables_of(optimizer: Any) -> list[Any]:
    """An optimizer's variables, also of old optimizers where that is a method."""
    variables: Any = getattr(optimizer, "variables", ())
    return list(optimizer.variables() if callable(variables) else variables)


def variable_bytes(variable: Any) -> int:
    """Size of one variable, bytes; 0 if its shape is not known."""
    try:
        elements = math.prod(int(n) for n in variable.shape)
    except _UNREADABLE:
        return 0
    return elements * _ITEM_BYTES.get(dtype_name(variable), 4)


def dtype_name(variable: Any) -> str:
    """Name of a variable's dtype, the same on each backend."""
    dtype = getattr(variable, "dtype", "float32")
    return str(getattr(dtype, "name", dtype)).removeprefix("torch.")


def _elements(variables: Iterable[Any]) -> int:
    total = 0
    for variable in variables:
        try:
            total += math.prod(int(n) for n in variable.shape)
        except _UNREADABLE:
            continue
    return total


def _bytes(variables: Iterable[Any]) -> int:
    return sum(variable_bytes(variable) for variable in variables)
