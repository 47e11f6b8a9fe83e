# pyright: basic
"""Everything of a process that belongs to the script, read without changing any of it.

A training's result, and what else a script does, depends on more than its own variables: random
generators, name counters, warning filters, signal handlers, the mask of new files. Nothing of ours
may set these or draw from them. `process_state` reads all of them, `changes` names what differs.
"""

import ctypes
import decimal
import faulthandler
import gc
import importlib
import locale
import logging
import os
import random
import resource
import signal
import socket
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

GENERATORS: Final = "random: which generators"

OUR_LOGGER: Final = "kmonitor"

FILTERS_TOUCHED: Final = "warnings: filters touched"
"""Counts every change of the filters, also one that was undone."""


ABSENT: Final = "(absent)"
"""Stands for what is not loaded or not there."""


class _Probe(DeprecationWarning):
    """Never shown: only used to get the version of the filters."""


SLOW: Final = frozenset({"garbage: frozen"})
"""Looks at every frozen object: too long for each turn, where calls are heard besides."""


def process_state(left_out: Collection[str] = ()) -> dict[str, Any]:
    """Every state by its name; values compare equal when nothing has changed."""
    return {name: read() for name, read in READERS.items() if name not in left_out}


def changes(
    before: Mapping[str, Any], after: Mapping[str, Any], allowed: Collection[str] = ()
) -> list[str]:
    """Differences, in words.

    A state that was absent before is skipped: its module was imported meanwhile.
    """
    return [
        f"{name}: {_shown(before[name], after[name])}"
        for name in before
        if name not in allowed and before[name] is not ABSENT and before[name] != after[name]
    ]


@contextmanager
def unchanged(where: str, allowed: Collection[str] = ()) -> Generator[None]:
    """Fail if the block changes any state that is not allowed to."""
    before = process_state()
    yield
    found = changes(before, process_state(), allowed)
    assert not found, f"{where} changed {'; '.join(found)}"


def _shown(before: object, after: object) -> str:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
        parts = [f"{key}: {before.get(key)!r} -> {after.get(key)!r}" for key in keys]
        return ", ".join(parts)[:2000]
    brief = [f"{str(each)[:80]} ... {hash(str(each)) & 0xFFFF:04x}" for each in (before, after)]
    return " -> ".join(brief)


# --- random numbers ---


def _numpy(read: Callable[[Any], Any]) -> Callable[[], Any]:
    def found() -> Any:
        numpy = sys.modules.get("numpy")
        return ABSENT if numpy is None else read(numpy)

    return found


def _numpy_random(numpy: Any) -> Any:
    # After `set_bit_generator` it is another one.
    return repr(_plain(numpy.random.mtrand._rand._bit_generator.state))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return value.tobytes() if hasattr(value, "tobytes") else value


def _tensorflow(read: Callable[[Any], Any]) -> Callable[[], Any]:
    def found() -> Any:
        # While it is being imported by another thread it has not all names yet.
        if "keras" not in sys.modules or "tensorflow" not in sys.modules:
            return ABSENT
        return read(sys.modules["tensorflow"])

    return found


def _context() -> Any:
    return importlib.import_module("tensorflow.python.eager.context").context()


def _tensorflow_random(_: Any) -> Any:
    context = _context()
    rng = getattr(context, "_rng", None)  # made with the first seed
    return context._seed, None if rng is None else rng.getstate()


def _tensorflow_generator(_: Any) -> Any:
    generator = _global_generator()
    return None if generator is None else generator.state.numpy().tobytes()


def _global_generator() -> Any:
    module = sys.modules.get("tensorflow.python.ops.stateful_random_ops")
    return getattr(module, "global_generator", None)


def _default_graph(_: Any) -> Any:
    ops = importlib.import_module("tensorflow.python.framework.ops")
    graph = ops._default_graph_stack._global_default_graph
    if graph is None or not graph.get_operations():
        return None  # a fresh one is as good as none
    return graph, len(graph.get_operations()), graph.seed, graph._last_id


def _tensorflow_settings(tf: Any) -> Any:
    return {
        "eager": tf.executing_eagerly(),
        "functions eagerly": tf.config.functions_run_eagerly(),
        "soft placement": tf.config.get_soft_device_placement(),
        "jit": tf.config.optimizer.get_jit(),
        "strategy": tf.distribute.has_strategy(),
        "name scope": importlib.import_module("tensorflow.python.framework.ops").get_name_scope(),
        "threads": (
            tf.config.threading.get_inter_op_parallelism_threads(),
            tf.config.threading.get_intra_op_parallelism_threads(),
        ),
        "log level": tf.get_logger().level,
    }


# --- Keras ---


def _keras(read: Callable[[Any], Any]) -> Callable[[], Any]:
    def found() -> Any:
        keras = sys.modules.get("keras")
        return ABSENT if not hasattr(keras, "Model") else read(keras)

    return found


def _global_state() -> Any:
    return importlib.import_module("keras.src.backend.common.global_state")


def _keras_names(_: Any) -> Any:
    return dict(getattr(_global_state().GLOBAL_STATE_TRACKER, "object_name_uids", {}))


def _keras_seed(_: Any) -> Any:
    generator = getattr(_global_state().GLOBAL_STATE_TRACKER, "global_seed_generator", None)
    value = None if generator is None else importlib.import_module("numpy").array(generator.state)
    seed = getattr(_global_state().GLOBAL_STATE_TRACKER, "random_seed", None)
    return None if value is None else value.tobytes(), seed


def _generators() -> Any:
    tracker = _global_state().GLOBAL_STATE_TRACKER if hasattr(_loaded("keras"), "Model") else None
    numpy = _loaded("numpy")
    return {
        "Python": (random._inst, random.random),
        "numpy": None if numpy is None else numpy.random.mtrand._rand._bit_generator,
        "TensorFlow": _global_generator(),
        "Keras": getattr(tracker, "global_seed_generator", None),
    }


def _loaded(name: str) -> Any:
    return sys.modules.get(name)


def _keras_state(_: Any) -> Any:
    known = ("object_name_uids", "global_seed_generator")  # read on their own
    trackers = _global_state().GLOBAL_STATE_TRACKER, _global_state().GLOBAL_SETTINGS_TRACKER
    return {
        name: list(value) if isinstance(value, list) else value
        for tracker in trackers
        for name, value in vars(tracker).items()
        # An empty stack of scopes is as good as none, and what saving remembers of classes is a
        # cache.
        if name not in known and value not in ([], None) and not name.startswith("saving_attr")
    }


def _keras_settings(keras: Any) -> Any:
    config = keras.config
    return {
        "floatx": config.floatx(),
        "epsilon": config.epsilon(),
        "image format": config.image_data_format(),
        "dtype policy": config.dtype_policy().name,
        "traceback filtering": config.is_traceback_filtering_enabled(),
        "interactive logging": config.is_interactive_logging_enabled(),
        "custom objects": dict(keras.saving.get_custom_objects()),
    }


# --- Python ---


def filters_version() -> int:
    """Version of the warning filters in this process; no warning is shown for it."""
    registry: dict[Any, Any] = {}
    with suppress(_Probe):  # where warnings are errors
        warnings.warn_explicit("probe", _Probe, "probe", 1, module="probe", registry=registry)
    return registry["version"]


def _hook(name: str, holder: Any) -> Callable[[], Any]:
    def found() -> Any:
        hook = getattr(holder, name)
        while getattr(hook, "__name__", "") == "kmonitor_excepthook":
            # Ours, which calls the one before: that is the one that must not change.
            names = hook.__code__.co_freevars
            hook = hook.__closure__[names.index("before")].cell_contents
        return hook

    return found


def _signals() -> Any:
    return {number.name: signal.getsignal(number) for number in signal.Signals}


def _loggers() -> Any:
    found: dict[str, Any] = {}
    for name, logger in list(logging.Logger.manager.loggerDict.items()):
        if isinstance(logger, logging.Logger) and name.partition(".")[0] != OUR_LOGGER:
            found[name] = _logger(logger)
    return found


def _logger(logger: logging.Logger) -> Any:
    handlers = [(each, each.level, each.formatter) for each in logger.handlers]
    return logger.level, handlers, list(logger.filters), logger.propagate, logger.disabled


def _known_loggers() -> Any:
    # Only those that exist at both times can differ.
    return _Grown(_loggers())


class _Frozen(int):
    """Number of frozen objects: those that die leave, and none comes."""

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int) and int(other) <= int(self) and bool(other) == bool(self)

    def __ne__(self, other: object) -> bool:
        return not self == other


class _Grown(dict[Any, Any]):
    """Compares what both have: more may come, what was there stays."""

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dict) and all(
            other.get(name, value) == value for name, value in self.items()
        )

    def __ne__(self, other: object) -> bool:
        return not self == other


def _environment() -> Any:
    """As C has it: libraries may write there past `os.environ`."""
    table = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
    found: list[bytes] = []
    while (entry := table[len(found)]) is not None:
        found.append(entry)
    return sorted(found)


def _status(field: str) -> Any:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{field}:"):
            return line.partition(":")[2].strip()
    return ABSENT


def _of_module(module: str, read: Callable[[Any], Any]) -> Callable[[], Any]:
    def found() -> Any:
        loaded = sys.modules.get(module)
        return ABSENT if loaded is None else read(loaded)

    return found


def _denormals() -> Any:
    """True if this thread's processor rounds the smallest numbers to zero."""
    smallest = sys.float_info.min
    return smallest / 2 > 0.0, (smallest / 2) * 2 == smallest


def _rounding() -> Any:
    library = ctypes.CDLL("libm.so.6")
    return library.fegetround(), library.fegetexcept()


def _limits() -> Any:
    names = [name for name in dir(resource) if name.startswith("RLIMIT_")]
    return {name: resource.getrlimit(getattr(resource, name)) for name in names}


READERS: Final[dict[str, Callable[[], Any]]] = {
    "random: Python's generator": random.getstate,
    GENERATORS: _generators,
    "random: numpy's generator": _numpy(_numpy_random),
    "random: TensorFlow's eager seeds": _tensorflow(_tensorflow_random),
    "random: TensorFlow's global generator": _tensorflow(_tensorflow_generator),
    "random: Keras' seed generator": _keras(_keras_seed),
    "random: PyTorch's generator": _of_module(
        "torch", lambda torch: torch.get_rng_state().numpy().tobytes()
    ),
    "names: Keras' counters": _keras(_keras_names),
    "names: TensorFlow's default graph": _tensorflow(_default_graph),
    "settings: Keras": _keras(_keras_settings),
    "settings: Keras' scopes": _keras(_keras_state),
    "settings: TensorFlow": _tensorflow(_tensorflow_settings),
    "settings: h5py": _of_module(
        "h5py", lambda h5py: (h5py.get_config().track_order, h5py.get_config().complex_names)
    ),
    "settings: ZeroMQ's global context": _of_module("zmq", lambda zmq: zmq.Context._instance),
    "warnings: filters": lambda: list(warnings.filters),
    FILTERS_TOUCHED: filters_version,
    "warnings: hooks": lambda: (
        warnings.showwarning,
        warnings.formatwarning,
        warnings._showwarnmsg_impl,  # pyright: ignore[reportAttributeAccessIssue]
    ),
    "locale": lambda: (locale.setlocale(locale.LC_ALL), locale.localeconv()),
    "time zone": lambda: (time.tzname, time.timezone),
    "signals: handlers": _signals,
    "signals: mask": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, []),
    "signals: as the kernel has them": lambda: tuple(map(_status, ("SigBlk", "SigIgn", "SigCgt"))),
    "signals: timers": lambda: signal.getitimer(signal.ITIMER_REAL)[1],
    "files: current directory": os.getcwd,
    "files: mask of new files": lambda: _status("Umask"),
    "files: temporary folder": lambda: tempfile.tempdir,
    "numbers: numpy's errors": _numpy(lambda numpy: (numpy.geterr(), numpy.geterrcall())),
    "numbers: numpy's printing": _numpy(lambda numpy: numpy.get_printoptions()),
    "numbers: denormals": _denormals,
    "numbers: rounding": _rounding,
    "numbers: decimals": lambda: (repr(decimal.getcontext()), repr(decimal.DefaultContext)),
    "numbers: longest text": sys.get_int_max_str_digits,
    "garbage: thresholds": gc.get_threshold,
    "garbage: enabled": gc.isenabled,
    "garbage: frozen": lambda: _Frozen(gc.get_freeze_count()),
    "garbage: flags and callbacks": lambda: (gc.get_debug(), list(gc.callbacks)),
    "interpreter: recursion limit": sys.getrecursionlimit,
    "interpreter: switch interval": sys.getswitchinterval,
    "interpreter: trace and profile": lambda: (
        sys.gettrace(),
        threading.gettrace(),
        threading.getprofile(),
    ),
    "interpreter: dlopen flags": sys.getdlopenflags,
    "interpreter: import": lambda: (
        list(sys.path),
        list(sys.meta_path),
        list(sys.path_hooks),
        sys.modules["__main__"],
    ),
    "interpreter: arguments": lambda: list(sys.argv),
    "interpreter: streams": lambda: (sys.stdin, sys.stdout, sys.stderr),
    "interpreter: stack of new threads": threading.stack_size,
    "hooks: sys.excepthook": _hook("excepthook", sys),
    "hooks: threading.excepthook": _hook("excepthook", threading),
    "hooks: others": lambda: (sys.unraisablehook, sys.displayhook, sys.breakpointhook),
    "logging: root": lambda: (
        _logger(logging.getLogger()),
        logging.raiseExceptions,
        logging.root.manager.disable,
        logging.getLoggerClass(),
        logging.lastResort,
    ),
    "logging: others": _known_loggers,
    "environment": lambda: dict(os.environ),
    "environment: as C has it": _environment,
    "sockets: default timeout": socket.getdefaulttimeout,
    "faulthandler": faulthandler.is_enabled,
    "processes: start method": _of_module(
        "multiprocessing.context",
        lambda module: module._default_context.get_start_method(allow_none=True),
    ),
    "processes: event loop policy": _of_module(
        "asyncio.events", lambda module: module._event_loop_policy
    ),
    "kernel: limits": _limits,
    "kernel: priority": lambda: (os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0)),
    "kernel: processors": lambda: os.sched_getaffinity(0),
    "kernel: group and session": lambda: (os.getpgrp(), os.getsid(0)),
    "kernel: user": lambda: (os.getresuid(), os.getresgid()),
    "kernel: choice of whom to kill": lambda: Path("/proc/self/oom_score_adj").read_text(),
    "kernel: name": lambda: Path("/proc/self/comm").read_text(),
}
"""Functions that read each state. A thread's own (rounding, decimals, signal mask, name counters
of Keras) are those of the calling thread: so the turns of our threads are run on the test's
own."""
