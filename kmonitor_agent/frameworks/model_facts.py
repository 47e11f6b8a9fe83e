# pyright: basic
"""Facts about a Keras model: how it is compiled and fitted, its layers, weights and slots.

Batch size and sequence length are read from the frame of its `fit`. Nothing of the script's runs:
what only its code knows is left out.
"""

import contextlib
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Final

from kmonitor_agent.call_stacks import frame_locals
from kmonitor_agent.frameworks.base import FitFacts, KerasModel, ModelDescription
from kmonitor_agent.frameworks.data_caches import DataCache, data_cache, stages_of
from kmonitor_agent.frameworks.data_kinds import UNKNOWN_DATA, KindOfData, fit_data
from kmonitor_agent.frameworks.global_state import preserve_name_counters
from kmonitor_agent.frameworks.model_parts import (
    leaves_of,
    name_of,
    optimizer_variables,
    variable_dtype,
    variable_name,
    variable_path,
    variable_shape,
    weights_of,
    wrapped_optimizer,
)
from kmonitor_agent.frameworks.script_values import (
    class_attribute,
    class_bases,
    class_name,
    each_of,
    holds_only_known,
    instance_dict,
    is_instance,
    is_known_class,
    items_of,
    runs_only_package_code,
    safe_bool,
    safe_count,
    safe_get,
    safe_getattr,
    safe_text,
    unwrapped,
)
from kmonitor_agent.wire.messages.events import LayerFacts, SlotFacts
from kmonitor_agent.wire.messages.readings import Reading

_UNREADABLE: Final = Exception
"""Exceptions of unreadable values: Keras' properties raise many kinds."""

_FIT_FRAMES: Final = 40
"""Number of callers that are searched for `fit`: callback, list of callbacks, traceback filter."""

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
    """Facts about a model's compilation, and data sizes if its `fit` is among our callers."""
    values = instance_dict(model)
    optimizer = values.get("optimizer")
    jit_compile = values.get("_jit_compile", values.get("jit_compile"))
    run_eagerly = values.get("_run_eagerly", values.get("run_eagerly"))
    data = _of_data(model)
    cache = data.cache
    return FitFacts(
        model=name_of(model),
        batch_size=safe_count(data.batch_size),
        steps_per_execution=_steps_per_execution(values),
        optimizer=optimizer_name(optimizer),
        learning_rate=read_learning_rate(model).value,
        jit_compile=jit_compile if type(jit_compile) is bool else None,
        run_eagerly=safe_bool(run_eagerly),
        dtype_policy=_policy_name(model),
        loss=_loss_text(values.get("loss")),
        is_built=_is_built(model) and _is_built(optimizer),
        sequence_length=safe_count(data.sequence_length),
        cache_steps=None if cache is None else safe_count(cache.steps),
        cache_bytes=None if cache is None else safe_count(cache.n_bytes),
        data=data.data,
    )


def _is_built(part: object) -> bool:
    values = instance_dict(part)
    return values.get("built", values.get("_built", True)) is not False


def optimizer_name(optimizer: Any) -> str:
    """Class name; of a loss-scaling wrapper also what it wraps; empty without an optimizer."""
    if optimizer is None:
        return ""
    name = class_name(type(optimizer))
    inner = wrapped_optimizer(optimizer)
    return f"{name}({class_name(type(inner))})" if inner is not None else name


def _steps_per_execution(values: Mapping[str, Any]) -> int:
    # tf_keras keeps a variable, of a strategy's own kind under one.
    for name in ("steps_per_execution", "_steps_per_execution"):
        steps = values.get(name)
        try:
            if steps is not None and is_known_class(type(steps)):
                return safe_count(int(steps.numpy() if hasattr(steps, "numpy") else steps)) or 1
        except _UNREADABLE:
            continue
    return 1


def _policy_name(layer: object) -> str:
    policy = instance_dict(layer).get("_dtype_policy", instance_dict(layer).get("dtype_policy"))
    return safe_text(safe_getattr(policy, "name", instance_dict(policy).get("_name", "")))


def _loss_text(loss: Any) -> str:
    loss = unwrapped(loss)
    if loss is None:
        return ""
    if is_instance(loss, str):
        return safe_text(loss)
    if is_instance(loss, dict):
        pairs = dict[Any, Any].items(loss)
        return ", ".join(f"{safe_text(key)}: {_loss_text(value)}" for key, value in pairs)
    if is_instance(loss, list, tuple):
        return ", ".join(map(_loss_text, items_of(loss)))
    if type(loss) is FunctionType:
        return loss.__name__
    return safe_text(safe_getattr(loss, "name")) or class_name(type(loss))


@dataclass(frozen=True, slots=True)
class _DataFacts:
    batch_size: int | None = None
    sequence_length: int | None = None
    cache: DataCache | None = None
    data: KindOfData = UNKNOWN_DATA


def _of_data(model: KerasModel) -> _DataFacts:
    # Keras 3 gives callbacks no batch size. `fit` and its data adapter know it.
    frame = sys._getframe(1)  # noqa: SLF001 - documented in CPython for this use
    for _ in range(_FIT_FRAMES):
        if frame is None:
            break
        if frame.f_code.co_name == "fit":
            with frame_locals(frame) as fit_locals:
                if fit_locals.get("self") is model:
                    return _DataFacts(
                        _batch_size_in(fit_locals),
                        _sequence_length_in(model, fit_locals),
                        _cache_in(fit_locals),
                        fit_data(_adapter_in(fit_locals), fit_locals),
                    )
        frame = frame.f_back
    return _DataFacts()


def _adapter_in(fit_locals: Mapping[str, Any]) -> Any:
    data = fit_locals.get("epoch_iterator", fit_locals.get("data_handler"))
    return safe_getattr(data, "data_adapter", safe_getattr(data, "_adapter"))


def _cache_in(fit_locals: Mapping[str, Any]) -> DataCache | None:
    try:
        return data_cache(instance_dict(_adapter_in(fit_locals)).get("_dataset"))
    except Exception:  # noqa: BLE001 - TensorFlow's own raise various things
        return None


def _batch_size_in(fit_locals: Mapping[str, Any]) -> int | None:
    try:
        adapter = _adapter_in(fit_locals)
        if adapter is None:
            return safe_count(fit_locals.get("batch_size"))
        if _reads_scripts_loader(adapter):
            return None
        batch_size: Any = safe_getattr(adapter, "batch_size")
        batch_size = batch_size() if callable(batch_size) else batch_size
        if batch_size is None:
            batch_size = _batch_size_of(safe_getattr(adapter, "_dataset"))
        return int(batch_size) if batch_size is not None else None
    except _UNREADABLE:
        return None


def _reads_scripts_loader(adapter: Any) -> bool:
    """True if Keras' adapter would ask a loader of the script's own class for its batch size."""
    loader = instance_dict(adapter).get("_dataloader")
    return not is_known_class(type(loader))


def _batch_size_of(dataset: Any) -> int | None:
    """Batch size of a `tf.data` pipeline whose last batch may be smaller."""
    for stage in stages_of(dataset):
        size = instance_dict(stage).get("_batch_size")
        if size is not None:
            return int(size.numpy() if hasattr(size, "numpy") else size)
        if class_name(type(stage)) == "_UnbatchDataset":
            return None
    return None


def _sequence_length_in(model: KerasModel, fit_locals: Mapping[str, Any]) -> int | None:
    try:
        return sequence_length_of(model, fit_locals)
    except Exception:  # noqa: BLE001 - the script's own data: what they raise is not ours to know
        return None


def sequence_length_of(model: Any, fit_locals: Mapping[str, Any]) -> int | None:
    """Length of every batch of a fit along axes that the model's inputs leave open.

    Read from arrays and the element types of data sets; no element is consumed.

    Args:
        fit_locals: Local variables of its `fit`, of which `x` is read.

    Returns:
        None if the model has no open axis, lengths differ, or the data do not tell.
    """
    inputs = _inputs(model)
    data = _first(fit_locals.get("x"))
    tensors = _by_name(inputs, data) if is_instance(data, dict) else _flat(data)
    if not inputs or len(tensors) != len(inputs):
        return None
    lengths: set[int | None] = set()
    for wanted, have in zip(inputs, tensors, strict=True):
        shapes = [tuple(safe_getattr(each, "shape") or ()) for each in (wanted, have)]
        if len(shapes[0]) != len(shapes[1]):
            return None
        pairs = zip(shapes[0][1:], shapes[1][1:], strict=True)
        lengths |= {length for axis, length in pairs if axis is None}
    only = lengths.pop() if len(lengths) == 1 else None
    return int(only) if only else None


def _inputs(model: Any) -> list[Any]:
    """Symbolic inputs of a model; empty if it has none."""
    values = instance_dict(model)
    functional = values.get("_functional")  # of a Sequential
    known = model if functional is None else functional
    inputs = instance_dict(known).get("_inputs")
    # tf_keras nests them, for one that is not of the script's own class.
    return _flat(safe_getattr(known, "inputs") if inputs is None else inputs)


def _first(data: Any) -> Any:
    """Inputs of the model from data that may also have targets and weights."""
    element = safe_getattr(data, "element_spec", data)
    return element[0] if element is not data and type(element) is tuple else element


def _flat(data: Any) -> list[Any]:
    if data is None:
        return []
    return each_of(data)


def _by_name(inputs: Sequence[Any], data: Any) -> list[Any]:
    values = dict[Any, Any].copy(data)
    return [values[name] for each in inputs if (name := safe_getattr(each, "name", "")) in values]


_OWN_RATE: Final = "it is the script's own code, which kmonitor does not run"
_OWN_PARTS: Final = "the schedule calls the script's own code, which kmonitor does not run"


def read_learning_rate(model: KerasModel) -> Reading:
    """The optimizer's learning rate now, Keras' own schedules evaluated, or why there is none."""
    optimizer = instance_dict(model).get("optimizer")
    if optimizer is None:
        return Reading.missing("1", "the model has no optimizer")
    while (inner := wrapped_optimizer(optimizer)) is not None:
        optimizer = inner
    values = instance_dict(optimizer)
    # Optimizers of tf_keras from before TensorFlow 2.11 keep it in `_hyper`, among others.
    rate = values.get("_learning_rate", safe_get(values.get("_hyper"), "learning_rate"))
    if not is_known_class(type(rate)) or (_is_called(rate) and not _is_schedule(rate)):
        return Reading.missing("1", _OWN_RATE)
    if _is_called(rate) and not (runs_only_package_code(type(rate)) and holds_only_known(rate)):
        return Reading.missing("1", _OWN_PARTS)
    try:
        with preserve_name_counters():  # a schedule counts names
            return learning_rate_reading(_number(_current_rate(optimizer, rate)))
    except _UNREADABLE as exc:
        return Reading.missing("1", f"the optimizer does not report it ({type(exc).__name__})")


def _is_called(rate: object) -> bool:
    return class_attribute(type(rate), "__call__") is not None


def _is_schedule(rate: object) -> bool:
    return any(class_name(base) == "LearningRateSchedule" for base in class_bases(type(rate)))


def _current_rate(optimizer: Any, rate: Any) -> Any:
    if not _is_called(rate):
        return rate
    if runs_only_package_code(type(optimizer)):
        return optimizer.learning_rate
    values = instance_dict(optimizer)
    # tf_keras keeps what the schedule gave last.
    last = values.get("_current_learning_rate")
    return rate(values["_iterations"]) if last is None else last


def _number(rate: Any) -> float:
    try:
        return float(rate.numpy() if hasattr(rate, "numpy") else rate)
    except (TypeError, RuntimeError):  # of PyTorch, on a GPU
        return float(rate.item())


def learning_rate_reading(value: float) -> Reading:
    if not math.isfinite(value):
        return Reading.missing("1", "it is not finite")
    return Reading(value, "1", "keras: the optimizer's learning rate")


def read_description(model: KerasModel) -> ModelDescription:
    """Layers, weights and optimizer slots; each shared weight is counted once."""
    seen: set[int] = set()
    layers = tuple(_layer_facts(path, layer, seen) for path, layer in leaves_of(model))
    rest = [weight for weight, _ in weights_of(model) if id(weight) not in seen]
    slots = _readable(_slots(model))
    return ModelDescription(
        name=name_of(model),
        kind=class_name(type(model)),
        layers=layers,
        parameters=sum(facts.parameters for facts in layers) + _elements(rest),
        parameter_bytes=sum(facts.parameter_bytes for facts in layers) + _bytes(rest),
        slots=slots,
        slot_bytes=sum(slot.n_bytes for slot in slots),
    )


def _readable(facts: Iterable[Any]) -> tuple[Any, ...]:
    """All facts up to the first unreadable one."""
    readable: list[Any] = []
    with contextlib.suppress(_UNREADABLE):
        readable.extend(facts)
    return tuple(readable)


def _layer_facts(path: str, layer: Any, seen: set[int]) -> LayerFacts:
    weights = [
        (each, is_trained) for each, is_trained in weights_of(layer) if id(each) not in seen
    ]
    seen.update(id(each) for each, _ in weights)
    return LayerFacts(
        name=path[:4096],
        kind=class_name(type(layer))[:200],
        output_shape=_output_shape(layer)[:4096],
        dtype=_dtype_text(layer)[:200],
        parameters=_elements(each for each, _ in weights),
        trainable_parameters=_elements(each for each, is_trained in weights if is_trained),
        parameter_bytes=_bytes(each for each, _ in weights),
    )


def _dtype_text(layer: object) -> str:
    values = instance_dict(layer)
    policy = values.get("_dtype_policy", values.get("dtype_policy"))
    dtype = safe_getattr(policy, "compute_dtype", instance_dict(policy).get("_compute_dtype"))
    return "" if dtype is None else safe_text(dtype)


def _output_shape(layer: Any) -> str:
    nodes = items_of(instance_dict(layer).get("_inbound_nodes"))
    nodes = nodes or items_of(instance_dict(layer).get("_inbound_nodes_value"))
    if not nodes:
        return ""
    output = safe_getattr(nodes[0], "output_tensors", safe_getattr(nodes[0], "outputs"))
    parts = items_of(output) or [output]
    shapes = [safe_getattr(part, "shape") for part in parts]
    with contextlib.suppress(_UNREADABLE):
        return ", ".join(str(tuple(shape)) for shape in shapes if shape is not None)
    return ""


def _slots(model: KerasModel) -> Iterator[SlotFacts]:
    optimizer = instance_dict(model).get("optimizer")
    if optimizer is None:
        return
    weights = {variable_path(weight).replace("/", "_") for weight, _ in weights_of(model)}
    kinds: dict[str, list[Any]] = {}
    named: Any = safe_getattr(optimizer, "get_slot_names")
    names = frozenset(named()) if named is not None else frozenset()
    for variable in optimizer_variables(optimizer):
        kinds.setdefault(_slot_kind(variable, weights, names), []).append(variable)
    for kind, variables in kinds.items():
        yield SlotFacts(name=kind[:200], n=len(variables), n_bytes=_bytes(variables))


def _slot_kind(variable: Any, weights: set[str], slots: frozenset[str]) -> str:
    # Keras 3 names a slot "<weight's path with _>_<slot>"; tf_keras "Adam/m/<weight>:0", and its
    # optimizers of before TensorFlow 2.11 "Adam/<weight>/m:0".
    name = variable_name(variable)
    name_fields = name.split("_")
    for cut in range(len(name_fields) - 1, 0, -1):
        if "_".join(name_fields[:cut]) in weights:
            return "_".join(name_fields[cut:])
    path_fields = name.partition(":")[0].split("/")
    if slots:
        return path_fields[-1]
    return path_fields[1] if len(path_fields) > 2 else path_fields[-1]  # noqa: PLR2004 - optimizer/slot/weight


def variables_of(optimizer: Any) -> list[Any]:
    """An optimizer's variables, also of old optimizers where that is a method."""
    variables: Any = getattr(optimizer, "variables", ())
    return list(optimizer.variables() if callable(variables) else variables)


def variable_bytes(variable: Any) -> int:
    """Size of one variable, bytes; 0 if its shape is unknown."""
    return _elements([variable]) * _ITEM_BYTES.get(variable_dtype(variable), 4)


def _elements(variables: Iterable[Any]) -> int:
    shapes = map(variable_shape, variables)
    return sum(math.prod(shape) for shape in shapes if shape is not None)


def _bytes(variables: Iterable[Any]) -> int:
    return sum(variable_bytes(variable) for variable in variables)
