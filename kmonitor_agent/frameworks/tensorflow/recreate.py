# pyright: basic
"""Keras 3's variables on TensorFlow in new memory, in the same Keras objects.

The old variables go all together, so that the allocator can join what they leave; their values
come from the file that was written and verified just before, one in memory at a time. Nothing
else may refer to an old variable: a trace that captured it would fail ("variables which have been
deleted"), so every reference is counted first.
"""

import gc
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from types import FrameType, ModuleType
from typing import Any, Final

from kmonitor_agent.frameworks.base import (
    EmptyArrayFactory,
    KerasModel,
    StateVariable,
    unavailable_text,
)
from kmonitor_agent.frameworks.keras3.state import (
    optimizers_of,
    with_wrapped_optimizers,
    wrapped_optimizers,
)
from kmonitor_agent.frameworks.live_objects import instances_of
from kmonitor_agent.frameworks.tensorflow.memory import (
    TensorMemory,
    copy_into_allocator,
    is_on_cpu,
    is_same_memory,
)

_ATTEMPTS: Final = (False, False, True)
"""For each attempt, True if it is the last one."""

_SHARED_BYTES: Final = 4096
_MOST_HOLDERS: Final = 3
_HOLDER_DEPTH: Final = 5
_MOST_FOLLOWED: Final = 500
_WRAPPED_DEPTH: Final = 3


def why_not_recreate(model: KerasModel, state: Sequence[StateVariable]) -> str:
    """Reason why these variables must stay the same objects; empty if they may be replaced."""
    if _is_distributed(model):
        return (
            "the model is trained under a distribution strategy, which keeps references to its "
            "variables"
        )
    state = [each for each in state if not _is_tensorflows(each.variable)]
    variables = [each.variable for each in state]
    if not all(_can_be_initialized(each) for each in variables):
        return unavailable_text(
            "Keras", "a variable's value is not stored where kmonitor expects it"
        )
    return _why_optimizers(model, variables) or _why_held(state)


def recreate(
    model: KerasModel,
    state: Sequence[StateVariable],
    *,
    values: Callable[[EmptyArrayFactory | None], Iterator[Any]],
    write: Callable[[Any, Any], None],
) -> bool:
    """Release all variables, recreate each with its value, and update the optimizers.

    Variables that are TensorFlow's own stay: their creator refers to them.

    Args:
        values: Opens the saved values, one for each variable in order.
        write: Puts a value into the memory that a variable has.

    Returns:
        True if each variable was verified to have its value, every bit.
    """
    indices = [at for at, each in enumerate(state) if not _is_tensorflows(each.variable)]
    variables = [state[at].variable for at in indices]
    old_ids = [each._value._unique_id for each in variables]  # noqa: SLF001 - Keras'
    devices = [each._value.device for each in variables]  # noqa: SLF001
    optimizers = all_optimizers(model, old_ids)
    memory = TensorMemory()
    saved = _Saved(partial(values, memory.empty))
    saved.value(0)  # the file is open now: that it is moved or removed does no harm any more
    to_make = list(zip(indices, variables, devices, strict=True))
    maker = _Maker(write, memory)
    are_on_cpu = all(map(is_on_cpu, devices))
    try:
        for each in variables:
            each._value = None  # noqa: SLF001
        memory.is_open = are_on_cpu
        is_seen = _make_all(to_make, saved, maker)
    finally:
        try:
            if any(each._value is None for each in variables):  # noqa: SLF001 - it ended too early
                _make_all(to_make, saved, maker)
        finally:
            _rename_all(optimizers, old_ids, variables)
    return is_seen and len(indices) == len(state)


class _Saved:
    """Values in order from a file, opened again where reading failed."""

    def __init__(self, values: Callable[[], Iterator[Any]]) -> None:
        self._open = values
        self._values: Iterator[Any] | None = None
        self._next = 0
        self._cached: tuple[int, Any] | None = None

    def value(self, at: int) -> Any:
        """The value at an index; the first one is kept until it is read again."""
        if self._cached is not None and self._cached[0] == at:
            value = self._cached[1]
            self._cached = None
            return value
        try:
            value = self._read(at)
        except BaseException:
            self._values = None
            raise
        if self._next == 1 and at == 0:
            self._cached = (0, value)
        return value

    def _read(self, at: int) -> Any:
        if self._values is None or self._next > at:
            self._values = self._open()
            self._next = 0
        while self._next < at:
            next(self._values)
            self._next += 1
        self._next += 1
        return next(self._values)


def _id_of(variable: Any) -> Any:
    return getattr(variable._value, "_unique_id", None)  # noqa: SLF001 - None if it could not be made


def _make_all(to_make: Sequence[tuple[int, Any, str]], saved: _Saved, maker: "_Maker") -> bool:
    # A training needs every one: what fails is tried again when the others are made, and the
    # first failure is raised at the end.
    failed: BaseException | None = None
    is_seen = True
    for is_last in _ATTEMPTS:
        maker.is_plain = is_last
        for at, variable, device in to_make:
            if variable._value is not None:  # noqa: SLF001 - made, or interrupted before it went
                continue
            try:
                is_seen &= maker.make(variable, saved.value(at), device)
            except BaseException as exc:  # noqa: BLE001 - also an interrupt: the rest has to be made
                variable._value = None  # noqa: SLF001 - it may be half-written
                failed = failed or exc
        if all(each._value is not None for _, each, _ in to_make):  # noqa: SLF001
            break
        gc.collect()
    if failed is not None:
        raise failed
    return is_seen


class _Maker:
    """Gives Keras' variables new TensorFlow variables."""

    def __init__(self, write: Callable[[Any, Any], None], memory: TensorMemory) -> None:
        """`memory`: where large values are read, if it is open."""
        self._write = write
        self._memory = memory
        self.is_plain = False
        """True to always initialize a variable from its value, which works wherever Keras does."""

    def make(self, variable: Any, value: Any, device: str) -> bool:
        """Create a variable; True if it was verified to have the value, every bit."""
        tf = sys.modules["tensorflow"]
        with tf.device(device), tf.init_scope():
            if not self._memory.is_open:
                self._initialize_variable(variable, value, is_on_cpu(device))
                return False
            tensor = self._memory.pop_tensor(value)
            if tensor is None:
                self._initialize_variable(variable, value, is_on_cpu(device))
            else:
                variable._initialize(tensor)  # noqa: SLF001
            written = sys.modules["numpy"].asarray(variable._value.read_value())  # noqa: SLF001
        return is_same_memory(written, value) or written.tobytes() == value.tobytes()

    def _initialize_variable(self, variable: Any, value: Any, on_cpu: bool) -> None:  # noqa: FBT001
        tf = sys.modules["tensorflow"]
        if self.is_plain or value.nbytes < _SHARED_BYTES:
            variable._initialize(value)  # noqa: SLF001
        elif on_cpu:
            # TensorFlow would go on in numpy's memory, which its allocator does not count.
            variable._initialize(copy_into_allocator(value))  # noqa: SLF001
        else:
            # On another device the copy would be there twice for a moment.
            variable._initialize(tf.zeros(value.shape, value.dtype))  # noqa: SLF001
            self._write(variable, value)


def _is_distributed(model: KerasModel) -> bool:
    tf = sys.modules["tensorflow"]
    return getattr(model, "_distribute_strategy", None) is not None or tf.distribute.has_strategy()


def _is_tensorflows(variable: Any) -> bool:
    return isinstance(variable, sys.modules["tensorflow"].Variable)


def _can_be_initialized(variable: Any) -> bool:
    tf = sys.modules["tensorflow"]
    value = getattr(variable, "_value", None)
    known = isinstance(value, tf.Variable) and hasattr(value, "_unique_id")
    return known and callable(getattr(variable, "_initialize", None))


def _why_optimizers(model: KerasModel, variables: Sequence[Any]) -> str:
    known = all_optimizers(model, [each._value._unique_id for each in variables])  # noqa: SLF001
    inner = {id(one) for each in known for one in wrapped_optimizers(each)}
    # `compile()` of a GAN gives its outer model an optimizer that never trains anything.
    outer = [each for each in known if id(each) not in inner and _trains(each)]
    if len(outer) > 1:
        return f"{len(outer)} optimizers use these variables, but only one is supported"
    if any(not hasattr(each, "_trainable_variables_indices") for each in known):
        return "this optimizer stores its variables in its own way"
    return ""


def _trains(optimizer: Any) -> bool:
    return bool(getattr(optimizer, "_trainable_variables_indices", True))


def all_optimizers(model: KerasModel, ids: Collection[str]) -> list[Any]:
    """The model's optimizers, those inside of them, and others that know one of the variables."""
    own = with_wrapped_optimizers(optimizers_of(model))
    others = _optimizers_that_know(set(ids)) if _are_known_elsewhere(own, ids) else []
    by_id = {id(each): each for each in [*own, *others]}
    return list(by_id.values())


def _are_known_elsewhere(optimizers: Sequence[Any], ids: Collection[str]) -> bool:
    """True if an object other than these has the text of an id, which an optimizer keeps as a key.

    Far quicker than searching for other optimizers among all objects.
    """
    keys = Counter(map(id, _stored_keys(optimizers)))
    fresh = _fresh_variable()
    (usual,) = map(sys.getrefcount, [fresh._value._unique_id])  # noqa: SLF001
    counts = map(sys.getrefcount, ids)
    return any(count - usual > keys[at] for at, count in zip(map(id, ids), counts, strict=True))


def _stored_keys(optimizers: Sequence[Any]) -> Iterator[str]:
    """Each key once for each collection that stores it.

    TensorFlow wraps some collections in others.
    """
    containers: dict[int, Any] = {}
    todo = [value for each in optimizers for value in vars(each).values()]
    for _ in range(_WRAPPED_DEPTH):
        todo = [
            each for each in todo if isinstance(each, dict | set) and id(each) not in containers
        ]
        containers |= {id(each): each for each in todo}
        todo = gc.get_referents(*todo)
    for each in containers.values():
        # A wrapper that only looks like a dict passes on the keys of the one that it wraps.
        if issubclass(type(each), dict | set):
            yield from (key for key in each if isinstance(key, str))


def _optimizers_that_know(ids: set[str]) -> list[Any]:
    # All that live, not only the model's: a script may train parts of it by another one.
    optimizers = instances_of([sys.modules["keras"].optimizers.Optimizer])
    return [each for each in optimizers if not ids.isdisjoint(_keys(each))]


def _keys(optimizer: Any) -> Iterator[Any]:
    for value in vars(optimizer).values():
        if isinstance(value, dict | set):
            yield from (key for key in value if isinstance(key, str))


def _rename_all(
    optimizers: Sequence[Any], old_ids: Sequence[str], variables: Sequence[Any]
) -> None:
    """Replace variables' ids in the variable index and in the exclusions from weight decay."""
    for is_last in _ATTEMPTS:
        try:
            pairs = zip(old_ids, variables, strict=True)
            new_ids = {old: new for old, each in pairs if (new := str(_id_of(each))) != old}
            for optimizer in optimizers:
                for keys in [*vars(optimizer).values()]:
                    if isinstance(keys, dict | set):
                        _rename(keys, new_ids)
        except BaseException:  # no memory, or an interrupt: what is renamed stays so
            if is_last:
                raise
        else:
            return


def _rename(keys: "dict[Any, Any] | set[Any]", new_ids: dict[str, str]) -> None:
    # A key goes when its new one is there: whatever fails between, none is lost.
    for old in [each for each in keys if isinstance(each, str) and each in new_ids]:
        if isinstance(keys, dict):
            keys[new_ids[old]] = keys[old]
            del keys[old]
        else:
            keys.add(new_ids[old])
            keys.discard(old)


def _why_held(state: Sequence[StateVariable]) -> str:
    fresh = _fresh_variable()
    usual = _references(fresh)
    held = [each for each in state if _references(each.variable) > usual]
    if not held:
        return ""
    names = ", ".join(f"`{each.path.partition('/')[2]}`" for each in held[:_MOST_HOLDERS])
    more = f" and {len(held) - _MOST_HOLDERS} more" if len(held) > _MOST_HOLDERS else ""
    return f"{names}{more} also in use by {_holders(held[0].variable)}"


def _fresh_variable() -> Any:
    # With a name of its own: without one Keras would count it among the script's.
    return sys.modules["keras"].Variable(0.0, name="kmonitor")


def _references(variable: Any) -> int:
    """Number of references to TensorFlow's variable and to its handle, which traces capture."""
    value = variable._value  # noqa: SLF001
    return sys.getrefcount(value) + sys.getrefcount(value.handle)


def _holders(variable: Any) -> str:
    value = variable._value  # noqa: SLF001
    seen = {id(each) for each in (value, vars(value), variable, vars(variable))}
    referrers = _new_referrers([value, value.handle], seen)
    plain = {
        f"a {type(each).__name__} in the script" for each in referrers if _is_collection(each)
    }
    traces: set[str] = set()
    # A trace holds what it captured by way of a few collections.
    for _ in range(_HOLDER_DEPTH):
        traces |= {f"the tf.function `{each.name}`" for each in referrers if _is_trace(each)}
        if traces or len(referrers) > _MOST_FOLLOWED:
            break
        referrers = _new_referrers(referrers, seen)
    return ", ".join(sorted(traces or plain)[:_MOST_HOLDERS]) or "something outside the model"


def _new_referrers(objects: list[Any], seen: set[int]) -> list[Any]:
    seen.update(id(each) for each in objects)
    seen.add(id(objects))
    referrers = [each for each in gc.get_referrers(*objects) if id(each) not in seen]
    return [each for each in referrers if not isinstance(each, FrameType | ModuleType)]


def _is_trace(value: Any) -> bool:
    return type(value).__name__ == "FuncGraph"


def _is_collection(value: Any) -> bool:
    return isinstance(value, list | tuple | dict | set)
