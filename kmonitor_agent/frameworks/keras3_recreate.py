# pyright: basic
"""Keras 3's variables on TensorFlow made anew: same Keras objects, new memory.

The old variables go all together, so that the allocator can join what they leave; their values
wait in host memory meanwhile. On a CPU that takes the place of the variables, on a device it is
host memory on top. Nothing else may refer to an old variable: a trace that captured it would fail
("variables which have been deleted"), so every reference is counted first.
"""

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType, ModuleType
from typing import Any, Final

import psutil

from kmonitor_agent.frameworks.base import KerasModel, StateVariable
from kmonitor_agent.frameworks.keras3_state import optimizers_of

_ROOM_FACTOR: Final = 1.5
"""Host memory that must be free, by the bytes that leave a device."""
_ATTEMPTS: Final = 3
_MOST_HOLDERS: Final = 3
_HOLDER_DEPTH: Final = 5
_MOST_FOLLOWED: Final = 500


def why_not_recreate(model: KerasModel, state: Sequence[StateVariable]) -> str:
    """Why these variables must stay the objects that they are; empty when they may go."""
    if _is_distributed(model):
        return "the model trains under a distribution strategy, which keeps its own references"
    variables = [each.variable for each in state]
    if not all(_can_be_initialized(each) for each in variables):
        return "this Keras keeps a variable's value elsewhere"
    return _why_optimizers(model, variables) or _why_held(state) or _why_no_room(state)


def recreate(
    model: KerasModel, state: Sequence[StateVariable], read: Callable[[Any], Any]
) -> None:
    """Let all go, then make each anew with its value, and tell the optimizers.

    Args:
        model: Whose they are.
        state: What to make anew.
        read: Gives a variable's value as a numpy array.
    """
    variables = [each.variable for each in state]
    old_ids = [each._value._unique_id for each in variables]  # noqa: SLF001 - Keras'
    devices = [each._value.device for each in variables]  # noqa: SLF001
    values: list[Any] = []
    try:
        for each in variables:
            values.append(read(each))
            each._value = None  # noqa: SLF001
        gc.collect()
    finally:
        try:
            _make_all(variables, values, devices)
        finally:
            pairs = zip(old_ids, variables, strict=True)
            new_ids = {old: str(_id_of(each)) for old, each in pairs}
            for optimizer in _all_optimizers(model, set(new_ids)):
                _rename(optimizer, new_ids)


def _id_of(variable: Any) -> Any:
    return getattr(variable._value, "_unique_id", None)  # noqa: SLF001 - None if it could not be made


def _make_all(variables: Sequence[Any], values: list[Any], devices: Sequence[str]) -> None:
    # A training needs every one: what fails is tried again when the others are made, and the
    # first failure is raised at the end.
    failed: BaseException | None = None
    for _ in range(_ATTEMPTS):
        for at, value in enumerate(values):
            if value is None:
                continue
            try:
                _make(variables[at], value, devices[at])
                values[at] = None
            except BaseException as exc:  # noqa: BLE001 - also an interrupt: the rest has to be made
                failed = failed or exc
        if all(value is None for value in values):
            break
        gc.collect()
    if failed is not None:
        raise failed


def _make(variable: Any, value: Any, device: str) -> None:
    if variable._value is not None:  # noqa: SLF001 - interrupted before it was let go
        return
    tf = sys.modules["tensorflow"]
    with tf.device(device), tf.init_scope():
        variable._initialize(value)  # noqa: SLF001


def _is_distributed(model: KerasModel) -> bool:
    tf = sys.modules["tensorflow"]
    return getattr(model, "_distribute_strategy", None) is not None or tf.distribute.has_strategy()


def _can_be_initialized(variable: Any) -> bool:
    tf = sys.modules["tensorflow"]
    value = getattr(variable, "_value", None)
    known = isinstance(value, tf.Variable) and hasattr(value, "_unique_id")
    return known and callable(getattr(variable, "_initialize", None))


def _why_optimizers(model: KerasModel, variables: Sequence[Any]) -> str:
    known = _all_optimizers(model, {each._value._unique_id for each in variables})  # noqa: SLF001
    inner = {id(one) for each in known for one in _inside(each)}
    outer = [each for each in known if id(each) not in inner]
    if len(outer) > 1:
        return f"{len(outer)} optimizers work on these variables, and only one is safe"
    if any(not hasattr(each, "_trainable_variables_indices") for each in known):
        return "this optimizer keeps its variables in its own way"
    return ""


def _all_optimizers(model: KerasModel, ids: set[str]) -> list[Any]:
    """The model's, those inside of them, and any other that knows one of the variables."""
    mine = optimizers_of(model)
    inner = [one for each in mine for one in _inside(each)]
    found = {id(each): each for each in [*mine, *inner, *_optimizers_that_know(ids)]}
    return list(found.values())


def _inside(optimizer: Any) -> Iterator[Any]:
    """Optimizers that this one wraps."""
    kind = sys.modules["keras"].optimizers.Optimizer
    for value in vars(optimizer).values():
        some = value if isinstance(value, list | tuple) else (value,)
        for each in some:
            if isinstance(each, kind) and each is not optimizer:
                yield each
                yield from _inside(each)


def _optimizers_that_know(ids: set[str]) -> list[Any]:
    # All that live, not only the model's: a script may train parts of it by another one.
    kind = sys.modules["keras"].optimizers.Optimizer
    found = [each for each in gc.get_objects() if isinstance(each, kind)]
    return [each for each in found if not ids.isdisjoint(_keys(each))]


def _keys(optimizer: Any) -> Iterator[Any]:
    for value in vars(optimizer).values():
        if isinstance(value, dict | set):
            yield from (key for key in value if isinstance(key, str))


def _rename(optimizer: Any, new_ids: dict[str, str]) -> None:
    """Variables' ids stand in the variable index and in what weight decay leaves out."""
    for value in vars(optimizer).values():
        if isinstance(value, dict):
            renamed = {_renamed(key, new_ids): each for key, each in value.items()}
            if renamed.keys() != value.keys():
                value.clear()
                value.update(renamed)
        elif isinstance(value, set):
            renamed_set = {_renamed(key, new_ids) for key in value}
            value.clear()
            value.update(renamed_set)


def _renamed(key: Any, new_ids: dict[str, str]) -> Any:
    return new_ids.get(key, key) if isinstance(key, str) else key


def _why_held(state: Sequence[StateVariable]) -> str:
    fresh = sys.modules["keras"].Variable(0.0)
    usual = _references(fresh)
    held = [each for each in state if _references(each.variable) > usual]
    if not held:
        return ""
    names = ", ".join(f"`{each.path.partition('/')[2]}`" for each in held[:_MOST_HOLDERS])
    more = f" and {len(held) - _MOST_HOLDERS} more" if len(held) > _MOST_HOLDERS else ""
    return f"{names}{more} also in use by {_holders(held[0].variable)}"


def _references(variable: Any) -> int:
    """To TensorFlow's variable and to its handle, which traces capture."""
    value = variable._value  # noqa: SLF001
    return sys.getrefcount(value) + sys.getrefcount(value.handle)


def _holders(variable: Any) -> str:
    value = variable._value  # noqa: SLF001
    seen = {id(each) for each in (value, vars(value), variable, vars(variable))}
    found = _new_referrers([value, value.handle], seen)
    plain = {f"a {type(each).__name__} of the script" for each in found if _is_collection(each)}
    traces: set[str] = set()
    # A trace holds what it captured by way of a few collections.
    for _ in range(_HOLDER_DEPTH):
        traces |= {f"the tf.function `{each.name}`" for each in found if _is_trace(each)}
        if traces or len(found) > _MOST_FOLLOWED:
            break
        found = _new_referrers(found, seen)
    return ", ".join(sorted(traces or plain)[:_MOST_HOLDERS]) or "something outside of the model"


def _new_referrers(objects: list[Any], seen: set[int]) -> list[Any]:
    seen.update(id(each) for each in objects)
    seen.add(id(objects))
    found = [each for each in gc.get_referrers(*objects) if id(each) not in seen]
    return [each for each in found if not isinstance(each, FrameType | ModuleType)]


def _is_trace(found: Any) -> bool:
    return type(found).__name__ == "FuncGraph"


def _is_collection(found: Any) -> bool:
    return isinstance(found, list | tuple | dict | set)


def _why_no_room(state: Sequence[StateVariable]) -> str:
    leaving = sum(each.n_bytes for each in state if not _is_on_cpu(each.variable))
    free = psutil.virtual_memory().available
    if leaving * _ROOM_FACTOR > free:
        return f"{leaving} bytes leave the device for host memory, and {free} bytes are free there"
    return ""


def _is_on_cpu(variable: Any) -> bool:
    return "CPU" in str(variable._value.device).upper()  # noqa: SLF001
