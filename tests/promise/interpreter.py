"""Shapes of the interpreter: modules, hooks, handlers, flags."""

from typing import Final

from tests.promise.training import Case

INTERPRETER: Final = (
    Case(
        "IPython without get_ipython",
        before="""
import types
sys.modules["IPython"] = types.ModuleType("IPython")
""",
    ),
    Case("IPython is None", before='sys.modules["IPython"] = None'),
    Case(
        "an IPython whose shell raises",
        before="""
import types
module = types.ModuleType("IPython")
def get_ipython(): count("shell"); raise RuntimeError("no")
module.get_ipython = get_ipython
sys.modules["IPython"] = module
""",
    ),
    Case("an odd spec of main", before="sys.modules['__main__'].__spec__ = 5"),
    Case(
        "a spec of main that raises",
        before="""
class Spec:
    def __getattr__(self, name): raise RuntimeError(name)
sys.modules["__main__"].__spec__ = Spec()
""",
    ),
    Case("main without a file", before='del sys.modules["__main__"].__file__'),
    Case(
        "a main of another class",
        before="""
import types
class Main(types.ModuleType):
    def __getattr__(self, name): count(name); raise RuntimeError(name)
sys.modules["__main__"].__class__ = Main
""",
    ),
    Case(
        "modules that are no modules",
        define="""
class Odd:
    def __getattr__(self, name): count(name); raise RuntimeError(name)
for name in ("torch", "jax", "tf_keras", "ray", "google.colab", "odd"):
    sys.modules[name] = Odd()
sys.modules[5] = Odd()
COUNTS.clear()
""",
        after="COUNTS.clear()",
    ),
    Case(
        "empty modules in the frameworks' names",
        before="""
import types
for name in ("tf_keras", "ray", "google.colab", "mlflow", "wandb"):
    sys.modules[name] = types.ModuleType(name)
""",
    ),
    Case(
        "pynvml that raises something else",
        before="""
import types
module = types.ModuleType("pynvml")
def nvmlInit(*a, **k): raise RuntimeError("odd")
module.nvmlInit = nvmlInit
module.NVMLError = Exception
sys.modules["pynvml"] = module
""",
    ),
    Case(
        "a pynvml that exits",
        before="""
import types
module = types.ModuleType("pynvml")
def nvmlInit(*a, **k): raise SystemExit(3)
module.nvmlInit = nvmlInit
sys.modules["pynvml"] = module
""",
        monitor='MonitorCallback(limits=[kmonitor_agent.Limit("ram", "1 MiB", action="collect")])',
        define="""
import time
class Slow(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None): time.sleep(1.5)
def make_callbacks(): return [Slow()]
""",
        after="assert not WITH or monitor.records, 'the limit was not watched'",
    ),
    Case(
        "an empty pynvml",
        before='import types; sys.modules["pynvml"] = types.ModuleType("pynvml")',
    ),
    Case(
        "a pynvml that is none of NVIDIA's",
        before="""
class Odd:
    def __getattr__(self, name): raise LookupError(name)
sys.modules["pynvml"] = Odd()
""",
    ),
    Case("no argv", before="sys.argv = []"),
    Case("argv deleted", define="del sys.argv"),
    Case("argv that is no text", define="sys.argv = [None, 5, b'x']"),
    Case("no standard streams", before="sys.stdout = sys.stderr = sys.stdin = None"),
    Case(
        "a standard error that raises",
        before="""
class Err:
    encoding = "ascii"
    def write(self, text): raise ValueError("no")
    def flush(self): raise ValueError("no")
    def __getattr__(self, name): raise ValueError(name)
sys.stderr = Err()
""",
    ),
    Case(
        "hooks of the script's",
        before="""
def hook(*a): count("hook")
import threading
sys.excepthook = threading.excepthook = sys.unraisablehook = hook
""",
    ),
    Case(
        "warnings are errors",
        define="import warnings; warnings.simplefilter('error', UserWarning)",
    ),
    Case("warnings are errors by flag", flags=("-W", "error::UserWarning")),
    Case(
        "a root logger that counts",
        before="""
import logging
class Counts(logging.Handler):
    def emit(self, record):
        if record.name.startswith("kmonitor"): count("record")
logging.getLogger().addHandler(Counts())
logging.getLogger().setLevel(1)
""",
    ),
    Case(
        "logging that raises",
        before="""
import logging
class Raises(logging.Handler):
    def handle(self, record):
        if record.name.startswith("kmonitor"): raise RuntimeError("no")
logging.getLogger().addHandler(Raises())
logging.getLogger().setLevel(1)
""",
    ),
    Case(
        "no garbage collector",
        before="import gc; gc.disable()",
        after='found["gc"] = gc.isenabled()',
    ),
    Case(
        "thresholds of the garbage collector",
        before="import gc; gc.set_threshold(50, 2, 2)",
        after='found["gc"] = gc.get_threshold()',
    ),
    Case(
        "frozen objects",
        before="import gc",
        define="gc.freeze()",
        after='found["frozen"] = gc.get_freeze_count() > 0',
    ),
    Case(
        "a low recursion limit",
        define="sys.setrecursionlimit(420)",
        after='found["limit"] = sys.getrecursionlimit()',
    ),
    Case(
        "floating point errors raise",
        define='np.seterr(all="raise")',
        after='found["err"] = np.geterr()',
    ),
    Case(
        "a decimal context",
        before="import decimal; decimal.getcontext().prec = 3",
        after='found["prec"] = decimal.getcontext().prec',
    ),
    Case(
        "a socket timeout",
        before="import socket; socket.setdefaulttimeout(0.001)",
        after='found["timeout"] = socket.getdefaulttimeout()',
    ),
    Case(
        "a locale",
        before="import locale; locale.setlocale(locale.LC_ALL, 'C')",
        after='found["locale"] = locale.setlocale(locale.LC_ALL)',
    ),
    Case("the working folder is left", define="os.makedirs('x'); os.chdir('x'); os.rmdir('../x')"),
    Case("the environment is emptied", define="os.environ.clear()"),
    Case(
        "signal handlers of the script's",
        before="""
import signal
def on_signal(n, f): count("signal")
signal.signal(signal.SIGTERM, on_signal); signal.signal(signal.SIGHUP, signal.SIG_IGN)
""",
        after="""
found['handlers'] = [getattr(signal.getsignal(n), '__name__', 'x') for n in (1, 2, 15)]
""",
    ),
    Case(
        "signals ignored",
        before="import signal; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15, 10, 12)]",
    ),
    Case(
        "an alarm that ticks",
        before="""
import signal
ticks = []
signal.signal(signal.SIGALRM, lambda *a: ticks.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
""",
        after="signal.setitimer(signal.ITIMER_REAL, 0)",
    ),
    Case(
        "SIGPIPE by default", before="import signal; signal.signal(signal.SIGPIPE, signal.SIG_DFL)"
    ),
    Case("faulthandler on", before="import faulthandler; faulthandler.enable()"),
    Case(
        "tracemalloc on",
        before="import tracemalloc; tracemalloc.start()",
        after='found["tracing"] = tracemalloc.is_tracing()',
    ),
    Case("a trace function", before="sys.settrace(lambda *a: None)"),
    Case(
        "the start method of processes chosen late",
        after="""
import multiprocessing
multiprocessing.set_start_method("spawn")
""",
    ),
    Case(
        "descriptors closed by the script",
        define="""
class Closes(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if epoch == 0:
            os.closerange(3, 256)
            self.files = [open(f"own{n}", "wb") for n in range(60)]
def make_callbacks(): return [Closes()]
def make_data():
    x = np.ones((16, 4), "float32")
    return {"x": x, "y": x[:, :1], "batch_size": 4, "epochs": 8, "verbose": 0}
""",
        after="""
import time; time.sleep(1.5)
found["bytes"] = sum(os.path.getsize(f"own{n}") for n in range(60))
""",
        full=False,
    ),
    Case(
        "a builtin replaced",
        before="""
import builtins
real = builtins.open
def opened(*a, **k): return real(*a, **k)
builtins.open = opened
""",
    ),
    Case(
        "time that stands still for the script",
        before="""
import time
now = time.time()
time.time = lambda: now
""",
    ),
    Case(
        "time that jumps back",
        before="""
import time
real, box = time.time, [0]
def jumps():
    box[0] += 1
    return real() - 3600 * box[0]
time.time = jumps
""",
    ),
    Case(
        "threads that cannot start",
        define="""
import threading
def start(self): raise RuntimeError("can't start new thread")
class NoThreads(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.real = threading.Thread.start
def fit(model, callbacks, data):
    real = threading.Thread.start
    threading.Thread.start = start
    try:
        return model.fit(callbacks=callbacks, **data)
    finally:
        threading.Thread.start = real
""",
    ),
    Case("flags: optimized twice", flags=("-OO",)),
    Case("flags: development mode", flags=("-X", "dev"), lines=1),
    Case("flags: isolated", flags=("-I",)),
    Case("flags: no bytecode", flags=("-B",)),
    Case("flags: UTF-8 mode", flags=("-X", "utf8")),
    Case("flags: unbuffered", flags=("-u",)),
    Case("flags: bytes warnings", flags=("-b",)),
)
"""Shapes of the interpreter."""
