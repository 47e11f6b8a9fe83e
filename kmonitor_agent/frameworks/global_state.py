# pyright: basic
"""Global state that a training moves, other than its variables: random generators, name counters.

`read_*` gives plain values, `write_*` puts them back, `preserve_*` does both around a block.
`GlobalStateSnapshot` holds what must not move between two calls of `fit`. Generators and counters
of Keras are those of the calling thread.
"""

import random
import sys
from collections import defaultdict
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from kmonitor_agent.frameworks.script_values import class_bases, class_name, instance_dict

_KERAS2: Final = ("tf_keras", "keras")
"""Packages that may be a Keras 2."""

_KERAS3: Final = "keras.src.backend.common.global_state"
_KERAS3_SEED: Final = "global_seed_generator"


def read_random_states() -> dict[str, Any]:
    """Plain values by generator: of Python, numpy (legacy), TensorFlow, tf_keras and PyTorch."""
    states: dict[str, Any] = {"python": random.getstate()}
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        states["numpy"] = numpy.random.get_state(legacy=True)
    context = _eager_context()
    if context is not None:
        states["tensorflow_seed"] = context._seed  # noqa: SLF001 - private, looked for
        states["tensorflow"] = context._rng.getstate() if context._rng is not None else None  # noqa: SLF001
    generator = _global_generator()
    if generator is not None:
        states["tensorflow_generator"] = generator.state.numpy()
    for package in _KERAS2:
        own = _keras2_generator(package)
        if own is not None:
            states[package] = own.getstate()
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "get_rng_state"):
        states["torch"] = torch.get_rng_state().numpy().copy()
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            states["torch_cuda"] = [each.numpy().copy() for each in torch.cuda.get_rng_state_all()]
    return states


def write_random_states(states: Mapping[str, Any]) -> list[str]:
    """Restore these states; return one text for each that could not be restored."""
    left: list[str] = []
    for name, write in _WRITERS.items():
        if states.get(name) is None:
            continue
        try:
            write(states[name])
        except (AttributeError, ImportError, RuntimeError, TypeError, ValueError) as exc:
            left.append(f"the state of {name}'s random number generator was not restored: {exc}")
    return left


@contextmanager
def preserve_random_state() -> Generator[None]:
    """Undo what code of the script, which only we call, draws in the block.

    Only a generator that moved is put back: what other threads draw from the others stays.
    """
    before = read_random_states()
    seed = _keras3_seed()
    value = None if seed is None else seed.state.numpy().copy()
    try:
        yield
    finally:
        after = read_random_states()
        moved = {
            name: each for name, each in before.items() if not _is_same(each, after.get(name))
        }
        write_random_states(moved)
        if seed is None:
            _forget_keras3_seed()
        elif not _is_same(value, seed.state.numpy()):
            seed.state.assign(value)


def _keras3_seed() -> Any:
    # This thread's seed, for layers and calls without one. The lookup does not create it.
    state = sys.modules.get(_KERAS3)
    return None if state is None else state.get_global_attribute(_KERAS3_SEED)


def _forget_keras3_seed() -> None:
    if _keras3_seed() is not None:
        sys.modules[_KERAS3].set_global_attribute(_KERAS3_SEED, None)


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_is_same, one, other))
    bytes_of: list[Any] = [getattr(each, "tobytes", None) for each in (one, other)]
    if all(bytes_of):
        return bytes_of[0]() == bytes_of[1]()
    return one == other


def _write_python(state: Any) -> None:
    random.setstate(state)


def _write_numpy(state: Any) -> None:
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.set_state(state)


def _write_tensorflow_seed(seed: Any) -> None:
    context = _eager_context()
    # Set by the script as a rule: setting it again would only drop kernels.
    if context is not None and context._seed != seed:  # noqa: SLF001
        context._set_global_seed(seed)  # noqa: SLF001


def _write_tensorflow(state: Any) -> None:
    context = _eager_context()
    if context is not None:
        if context._rng is None:  # noqa: SLF001
            context._rng = random.Random()  # noqa: S311, SLF001 - as TensorFlow has it
        context._rng.setstate(state)  # noqa: SLF001


def _write_tensorflow_generator(state: Any) -> None:
    tf = sys.modules.get("tensorflow")
    if tf is not None:
        tf.random.get_global_generator().state.assign(state)


def _write_torch(state: Any) -> None:
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_rng_state(torch.from_numpy(state.copy()))


def _write_torch_cuda(states: Any) -> None:
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.cuda.set_rng_state_all([torch.from_numpy(each.copy()) for each in states])


def _write_keras2(package: str, state: Any) -> None:
    generator = _keras2_generator(package)
    if generator is not None:
        generator.setstate(state)


def _keras2_generator(package: str) -> Any:
    # Made by `set_random_seed`, for seeds of layers; each thread has its own.
    backend = sys.modules.get(f"{package}.src.backend")
    return getattr(getattr(backend, "_SEED_GENERATOR", None), "generator", None)


def _eager_context() -> Any:
    if "tensorflow" not in sys.modules:
        return None
    try:
        from tensorflow.python.eager import context
    except ImportError:
        return None
    eager_context = context.context()
    return (
        eager_context
        if hasattr(eager_context, "_rng") and hasattr(eager_context, "_seed")
        else None
    )


def _global_generator() -> Any:
    # Looked up without making it.
    module = sys.modules.get("tensorflow.python.ops.stateful_random_ops")
    return getattr(module, "global_generator", None)


_WRITERS = {
    "python": _write_python,
    "numpy": _write_numpy,
    "tensorflow_seed": _write_tensorflow_seed,
    "tensorflow": _write_tensorflow,
    "tensorflow_generator": _write_tensorflow_generator,
    "torch": _write_torch,
    "torch_cuda": _write_torch_cuda,
    **{package: partial(_write_keras2, package) for package in _KERAS2},
}

_COUNTERS: Final = "object_name_uids"
NameCounters = list[dict[str, int]]
"""Counters of automatic names ("dense_3") of a thread, one for each Keras that is here."""


def read_name_counters() -> NameCounters:
    """This thread's counters."""
    return [dict(each) for each in _counters()]


def write_name_counters(name_counters: NameCounters) -> None:
    """Set this thread's counters: the script's next layer gets the name that it would have had."""
    for counters, known in zip(_counters(), name_counters, strict=False):
        counters.clear()
        counters.update(known)


@contextmanager
def preserve_name_counters(*, from_zero: bool = False) -> Generator[None]:
    """Restore the counters after the block, in which layers are created.

    In Keras 3 the counters are this thread's own, so that no other thread notices.

    Args:
        from_zero: True to name layers in the block as in a script that has just begun. A model
            that is built a second time then mostly has the names of the first, and never a name
            that the script will still give.
    """
    before = read_name_counters()
    if from_zero:
        write_name_counters([{} for _ in before])
    try:
        yield
    finally:
        write_name_counters(before)


def _counters() -> Generator[Any]:
    state = sys.modules.get(_KERAS3)
    if state is not None:
        yield state.get_global_attribute(_COUNTERS, default=defaultdict(int), set_to_default=True)
    for package in _KERAS2:
        backend = sys.modules.get(f"{package}.src.backend")
        if hasattr(backend, "PER_GRAPH_OBJECT_NAME_UIDS"):
            yield from keras2_name_counters(backend)


def keras2_name_counters(backend: Any) -> list[Any]:
    """Counters of names of a Keras 2: those of `get_uid`, and those of layers if they are others.

    `get_uid` counts by a graph of Keras' own, layers by TensorFlow's default graph. In v1 graph
    mode that is one graph.
    """
    own = backend.get_graph()
    default = sys.modules["tensorflow"].compat.v1.get_default_graph()
    graphs = [own] if own is default else [own, default]
    by_graph = backend.PER_GRAPH_OBJECT_NAME_UIDS
    return [by_graph.setdefault(graph, defaultdict(int)) for graph in graphs]


_SHUFFLING: Final = ("python", "numpy", "torch")
"""Generators that Keras 3 shuffles with; tf.data has its own."""

_HIDDEN_HOOKS: Final = ("on_epoch_begin", "on_epoch_end")


class GlobalStateSnapshot:
    """Snapshot of the state that a second call of Keras' `fit` would change.

    On the training thread.
    """

    def __init__(self, data: object) -> None:
        """Read the states, and hide the epoch hooks of the data.

        Args:
            data: The training data, the argument `x`.
        """
        states = read_random_states()
        self._states = {name: states.get(name) for name in _SHUFFLING}
        self._names = read_name_counters()
        self._data = data if _is_py_dataset(data) else None
        self._hidden: list[str] = []
        for name in _HIDDEN_HOOKS if self._data is not None else ():
            # Only in the instance, and only until the first epoch; one that has it there keeps it.
            if name not in instance_dict(data):
                setattr(data, name, _skip_epoch_end)
                self._hidden.append(name)

    def restore(self) -> None:
        """Restore the state after the epoch before.

        The first epoch of the part is about to begin.
        """
        for name in self._hidden:
            delattr(self._data, name)
        self._hidden = []
        write_random_states(self._states)
        self._states = {}
        write_name_counters(self._names)


def _is_py_dataset(data: object) -> bool:
    return any(class_name(cls) == "PyDataset" for cls in class_bases(type(data)))


def _skip_epoch_end() -> None: ...
