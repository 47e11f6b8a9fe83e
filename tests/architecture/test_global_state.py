"""The agent's sources name nothing that draws from or sets what belongs to the script.

`tests/integration/test_global_state.py` and `tests/faults/test_global_state_turns.py` see what is
done; here stands what may not even be written. A reference counts, called or not.
"""

import ast
import fnmatch
import functools
from collections.abc import Iterator

from tests.support.source_tree import SourceFile, source_files

FORBIDDEN = (
    # Random numbers: own generators (`random.Random()`, `numpy.random.default_rng()`) are fine.
    *("random.[!RSg_]*", "random.getrandbits", "random.gauss", "random.gammavariate"),
    *("numpy.random.[!Ggd]*", "numpy.random.g[!e]*", "numpy.random.ge[!t]*"),
    *("numpy.random.dirichlet", "tensorflow.random.*", "torch.random.*", "torch.rand*"),
    *("*.set_random_seed", "*.set_seed", "*.manual_seed", "*.manual_seed_all", "*.set_rng_state"),
    *("*.set_rng_state_all", "*.get_global_generator", "*.set_global_generator"),
    *("*._set_global_seed", "*.set_state", "*.setstate"),
    # Names and settings of the frameworks.
    *("*.clear_session", "*.reset_uids", "*.get_uid", "*.auto_name", "*.set_global_attribute"),
    *("*.set_floatx", "*.set_epsilon", "*.set_dtype_policy", "*.set_global_policy"),
    *("*.set_learning_phase", "*.set_session", "*.run_functions_eagerly", "*.set_memory_growth"),
    *("*.disable_eager_execution", "*.reset_default_graph", "*.set_default_dtype"),
    # Warnings, locale, signals, files.
    *("warnings.simplefilter", "warnings.filterwarnings", "warnings.catch_warnings"),
    *("warnings.resetwarnings", "locale.setlocale", "time.tzset"),
    *("signal.signal", "signal.setitimer", "signal.alarm", "signal.set_wakeup_fd"),
    *("signal.siginterrupt", "signal.pthread_sigmask", "os.umask", "os.chdir", "os.fchdir"),
    *("os.putenv", "os.unsetenv", "os.nice", "os.setpriority", "os.setsid", "os.setpgid"),
    *("os.setuid", "os.setgid", "os.sched_setaffinity", "resource.setrlimit"),
    *("os.environ.update", "os.environ.pop", "os.environ.setdefault", "os.environ.clear"),
    *("os.environ.popitem", "tempfile.gettempprefix"),
    # Numbers, garbage, the interpreter.
    *("*.seterr", "*.seterrcall", "*.errstate", "*.set_printoptions", "decimal.setcontext"),
    *("decimal.localcontext", "gc.disable", "gc.enable", "gc.freeze", "gc.unfreeze"),
    *("gc.set_threshold", "gc.set_debug", "gc.callbacks", "sys.setrecursionlimit"),
    *("sys.setswitchinterval", "sys.settrace", "sys.setprofile", "sys.set_int_max_str_digits"),
    *("sys.setdlopenflags", "sys.path.insert", "sys.path.append", "sys.meta_path.*"),
    *("threading.settrace", "threading.setprofile", "threading.stack_size"),
    *("faulthandler.enable", "faulthandler.disable", "faulthandler.register"),
    *("tracemalloc.start", "tracemalloc.stop", "tracemalloc.clear_traces"),
    *("socket.setdefaulttimeout", "multiprocessing.set_start_method", "zmq.Context.instance"),
    *("logging.basicConfig", "logging.disable", "logging.captureWarnings"),
    *("logging.setLoggerClass", "*.addHandler", "*.setLevel", "unittest*"),
)
"""Patterns of dotted names, as they are where they are imported from."""

SET = ("sys.", "os.environ", "warnings.", "threading.", "tempfile.", "logging.", "random.", "gc.")
"""Names that must not be assigned to, nor deleted from."""

CHILD = "in a process of our own that only describes a model"
FOLD = "in a fold's process, before the function that it was started for"
FILTERS = "on the training thread, in a reload or a resumed fit; as before when it returns"
NODE = "in Ray's process on a node, before the fold's"
OWN = "a method of ours, or inside of one: settings, names and seeds are put back"
PUT_BACK = "puts back what a reload, a resumed fit or another model had drawn"
SUPERVISOR = "in the process of `kmonitor run`, or between fork and exec of the script's"

_AGENT = "kmonitor_agent/"
_FRAMEWORKS = "kmonitor_agent/frameworks/"

ALLOWED: dict[str, dict[str, str]] = {
    f"{_AGENT}call_stacks.py": {
        "gc.disable": "for one expression of C's, which no other thread can see",
        "gc.enable": "likewise",
    },
    f"{_FRAMEWORKS}keras3/state.py": {
        "tensorflow.random.Generator": "its type, to know one that a model holds",
    },
    f"{_AGENT}describing/model_source.py": {"sys.modules[] =": CHILD, "sys.path.insert": CHILD},
    f"{_AGENT}describing/trace_child.py": {"keras.config.set_dtype_policy": CHILD},
    f"{_AGENT}studies/fold_child.py": dict.fromkeys(
        (
            *("sys.argv[] =", "faulthandler.enable", "faulthandler.register", "random.seed"),
            *("signal.pthread_sigmask", "numpy.random.seed", "keras.utils.set_random_seed"),
        ),
        FOLD,
    ),
    f"{_AGENT}studies/carried_function.py": dict.fromkeys(
        (
            *("keras.backend.set_floatx", "keras.backend.set_epsilon"),
            "keras.mixed_precision.set_global_policy",
        ),
        FOLD,
    ),
    f"{_AGENT}studies/ray/cluster.py": {
        "os.environ[] =": "while a Ray of our own starts, which reads it from there only"
    },
    f"{_AGENT}studies/ray/node.py": dict.fromkeys(
        ("sys.argv[] =", "os.environ[] =", "os.environ.update", "sys.path[] =", "os.chdir"), NODE
    ),
    f"{_FRAMEWORKS}tensorflow/reclaim.py": {
        "keras.src.backend.common.global_state.clear_session": OWN
    },
    f"{_FRAMEWORKS}keras3/resuming.py": {
        "warnings.catch_warnings": FILTERS,
        "warnings.simplefilter": FILTERS,
        "generator.set_state": PUT_BACK,
    },
    f"{_FRAMEWORKS}global_state.py": dict.fromkeys(
        (
            *("random.setstate", "numpy.random.set_state", "generator.setstate"),
            "tensorflow.python.eager.context._set_global_seed",
            "tensorflow.python.eager.context._rng.setstate",
            *("torch.set_rng_state", "torch.cuda.set_rng_state_all"),
            "tensorflow.random.get_global_generator",
            "sys.modules[].set_global_attribute",
        ),
        PUT_BACK,
    ),
    f"{_FRAMEWORKS}tf_keras/resuming.py": {
        "warnings.catch_warnings": FILTERS,
        "warnings.simplefilter": FILTERS,
    },
    f"{_FRAMEWORKS}tf_keras/graph_mode.py": {
        "warnings.catch_warnings": FILTERS,
        "warnings.simplefilter": FILTERS,
        "backend.clear_session": OWN,
        "backend.set_session": OWN,
        "backend.set_learning_phase": OWN,
    },
    f"{_FRAMEWORKS}tf_keras/state.py": {
        "backend.clear_session": OWN,
    },
    f"{_AGENT}probes/heap.py": {
        "tracemalloc.start": "asked for by the user (diagnose), until the next epoch's end",
        "tracemalloc.stop": "likewise; not where the script had begun it",
    },
    f"{_AGENT}reclaim/actions.py": {"context.steps.clear_session": OWN},
    f"{_AGENT}reclaim/deferred_signals.py": {
        "signal.signal": "while an action runs, the script's handlers are called by ours, or wait"
    },
    f"{_AGENT}reclaim/rebuild.py": {"steps.clear_session": OWN},
    f"{_AGENT}reclaim/restart/child_process.py": dict.fromkeys(
        ("resource.setrlimit", "signal.pthread_sigmask", "signal.signal"), SUPERVISOR
    ),
    f"{_AGENT}restoring.py": {
        "warnings.catch_warnings": "in `kmonitor restore`, a process of our own",
        "warnings.simplefilter": "likewise",
    },
    f"{_AGENT}recording/runs.py": {
        "sys.excepthook =": "chained: the one before is always called",
        "threading.excepthook =": "likewise, to tell of a fit in a thread that died",
    },
    "kmonitor/integrations/scikit_learn.py": {"keras.utils.set_random_seed": FOLD},
}
"""Why a file may name it all the same."""


@functools.cache
def named_in(file: SourceFile) -> tuple[tuple[str, int], ...]:
    """Every dotted name of a file that is forbidden, and where it stands."""
    return tuple(_named_in(file))


def _named_in(file: SourceFile) -> Iterator[tuple[str, int]]:
    aliases = dict(_aliases(file))
    yield from ((name, node.lineno) for name, node in file.imported() if _is_forbidden(name))
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Attribute | ast.Name | ast.Subscript):
            name = _dotted(node, aliases)
            if isinstance(node.ctx, ast.Load):
                is_named = _is_forbidden(name)
            else:
                is_named = "." in name and name.startswith(SET)
                name += " ="
            if is_named:
                yield name, node.lineno


def _aliases(file: SourceFile) -> Iterator[tuple[str, str]]:
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                yield (
                    (each.asname or each.name.partition(".")[0]),
                    (each.name if each.asname else each.name.partition(".")[0]),
                )
        elif isinstance(node, ast.ImportFrom) and node.module:
            for each in node.names:
                yield each.asname or each.name, f"{node.module}.{each.name}"
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            # `numpy = sys.modules.get("numpy")`
            target, loaded = node.targets[0], _loaded(node.value)
            if isinstance(target, ast.Name) and loaded:
                yield target.id, loaded


def _loaded(node: ast.expr) -> str:
    """The module that `sys.modules["..."]` or `sys.modules.get("...")` gives, or empty."""
    arguments = node.args if isinstance(node, ast.Call) else []
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "sys.modules":
        arguments = [node.slice]
    elif not isinstance(node, ast.Call) or ast.unparse(node.func) != "sys.modules.get":
        return ""
    first = arguments[0] if arguments else None
    return str(first.value) if isinstance(first, ast.Constant) else ""


def _dotted(node: ast.expr, aliases: dict[str, str]) -> str:
    if isinstance(node, ast.Name):
        return aliases.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value, aliases)}.{node.attr}"
    if isinstance(node, ast.Subscript) and not _loaded(node):
        return f"{_dotted(node.value, aliases)}[]"
    return _loaded(node) or "?"


@functools.cache
def _is_forbidden(name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in FORBIDDEN)


def guest_files() -> list[SourceFile]:
    """Modules that run in the script's process."""
    return [
        *source_files("kmonitor_agent", "kmonitor/integrations"),
        *(each for each in source_files("kmonitor") if each.name == "kmonitor/notebook.py"),
    ]


def test_nothing_that_draws_or_sets_is_named_where_the_script_runs():
    named = [
        f"{file.name}:{line} {name}"
        for file in guest_files()
        for name, line in named_in(file)
        if name not in ALLOWED.get(file.name, {})
    ]

    assert not named


def test_every_exception_is_still_needed():
    named = {file.name: {name for name, _ in named_in(file)} for file in guest_files()}
    unused = [
        f"{file}: {name}"
        for file, names in ALLOWED.items()
        for name in names
        if name not in named.get(file, ())
    ]

    assert not unused


def test_every_way_to_write_a_draw_is_seen():
    text = """
import gc, numpy as np, os, random, sys, warnings
from random import uniform as even
from unittest import mock
numpy = sys.modules.get("numpy")
jitter = lambda: random.uniform(0.5, 1.0)
also = [even, np.random.rand, numpy.random.shuffle, sys.modules["keras"].utils.set_random_seed]
os.environ["A"] = "b"
del os.environ["A"]
sys.excepthook = print
with warnings.catch_warnings():
    np.seterr(all="ignore")
fine = [random.Random(), random.getstate(), np.random.default_rng(), np.random.get_state()]
"""

    seen = {name for name, _ in named_in(SourceFile("text.py", text))}

    assert seen == {
        *("unittest", "random.uniform", "numpy.random.rand", "numpy.random.shuffle"),
        *("keras.utils.set_random_seed", "os.environ[] =", "sys.excepthook ="),
        *("warnings.catch_warnings", "numpy.seterr"),
    }
