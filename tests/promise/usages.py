"""Ways of fitting, and callbacks beside ours."""

from typing import Final

from tests.promise.training import Case

_RELOAD: Final = 'MonitorCallback(limits=[kmonitor_agent.Limit("graph", 1, action="reload")])'


def _callback(name: str, code: str, **more: str) -> Case:
    """One more callback beside ours."""
    return Case(name, define=f"def make_callbacks():\n    return [{code}]", **more)  # pyright: ignore[reportArgumentType]


USAGES: Final = (
    Case(
        "first of the callbacks",
        add="callbacks.insert(0, monitor)",
        define="def make_callbacks(): return [keras.callbacks.EarlyStopping('loss')]",
    ),
    Case("twice in the list", add="callbacks += [monitor, monitor]"),
    Case("two of them", add='callbacks += [monitor, MonitorCallback("other")]'),
    Case(
        "in a CallbackList",
        define="""
def fit(model, callbacks, data):
    named = {"model": model, "epochs": 2, "verbose": 0, "steps": 4}
    every = keras.callbacks.CallbackList(callbacks, add_history=True, **named)
    return model.fit(callbacks=every, **data)
""",
    ),
    Case("a reload in the middle", monitor=_RELOAD, full=False),
    Case("a collect in the middle", monitor=_RELOAD.replace("reload", "collect")),
    Case(
        "figures in the logs",
        monitor="MonitorCallback(logs=True)",
        after='found.pop("history", None)',
    ),
    Case("private", monitor="MonitorCallback(private=True)"),
    Case("no hub", monitor='MonitorCallback(hub="off")'),
    Case(
        "a reload with float16",
        monitor=_RELOAD,
        define="keras.mixed_precision.set_global_policy('mixed_float16')",
    ),
    Case(
        "a reload with EMA",
        monitor=_RELOAD,
        define="""
def compile_model(model):
    model.compile(keras.optimizers.Adam(0.01, use_ema=True, ema_momentum=0.9), "mse")
""",
    ),
    Case(
        "a reload with gradient accumulation",
        monitor=_RELOAD,
        define="""
def compile_model(model):
    model.compile(keras.optimizers.Adam(0.01, gradient_accumulation_steps=2), "mse")
""",
    ),
    Case(
        "eagerly", define="def compile_model(model): model.compile('sgd', 'mse', run_eagerly=True)"
    ),
    Case(
        "several steps per execution",
        define="def compile_model(model): model.compile('sgd', 'mse', steps_per_execution=2)",
    ),
    Case(
        "compiled by XLA",
        define="def compile_model(model): model.compile('sgd', 'mse', jit_compile=True)",
    ),
    Case(
        "with validation",
        define="""
_plain = make_data
def make_data():
    data = _plain()
    return {**data, "validation_data": (data["x"], data["y"]), "validation_freq": 1}
""",
    ),
    Case(
        "with progress printed",
        define="""
_plain = make_data
def make_data(): return {**_plain(), "verbose": 2}
def fit(model, callbacks, data):
    import contextlib, io
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        history = model.fit(callbacks=callbacks, **data)
    import re
    print(re.sub(r"[0-9.]+m?s(/step)?", "T", printed.getvalue()))
    return history
""",
    ),
    Case(
        "two fits",
        define="""
def fit(model, callbacks, data):
    model.fit(callbacks=callbacks, **data)
    return model.fit(callbacks=callbacks, **data)
""",
    ),
    Case(
        "a fit within a fit",
        define="""
class Inner(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        other = keras.Sequential([keras.layers.Dense(1)])
        other.compile("sgd", "mse")
        other.fit(np.ones((4, 4)), np.ones((4, 1)), verbose=0, callbacks=make_inner())
inner = []
def make_inner(): return list(inner)
def make_callbacks(): return [Inner()]
""",
        add="callbacks.append(monitor); inner.append(monitor)",
    ),
    Case(
        "many models one after the other",
        define="""
def fit(model, callbacks, data):
    for _ in range(4):
        other = make_model(); compile_model(other)
        other.fit(callbacks=callbacks, **data)
        keras.backend.clear_session(free_memory=False)
    return model.fit(callbacks=callbacks, **data)
""",
    ),
    Case(
        "evaluate and predict",
        define="""
def fit(model, callbacks, data):
    history = model.fit(callbacks=callbacks, **data)
    model.evaluate(data["x"], data["y"], verbose=0, callbacks=callbacks)
    model.predict(data["x"], verbose=0, callbacks=callbacks)
    return history
""",
    ),
    Case(
        "a callback that stops the training",
        define="""
class Stops(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 2: self.model.stop_training = True
def make_callbacks(): return [Stops()]
""",
    ),
    Case(
        "a callback that raises",
        define="""
class Raises(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 2: raise ValueError("mine")
def make_callbacks(): return [Raises()]
""",
    ),
    Case(
        "an interrupt from a callback",
        define="""
class Interrupts(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None): raise KeyboardInterrupt
def make_callbacks(): return [Interrupts()]
def fit(model, callbacks, data):
    try:
        model.fit(callbacks=callbacks, **data)
    except KeyboardInterrupt:
        return "interrupted"
""",
    ),
    Case(
        "an uncaught exception",
        after="""raise ValueError("the script's own")""",
        computes=False,
    ),
    Case(
        "sys.exit in a callback",
        define="""
class Exits(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None): sys.exit(5)
def make_callbacks(): return [Exits()]
def fit(model, callbacks, data):
    try:
        model.fit(callbacks=callbacks, **data)
    except SystemExit as exc:
        return f"exit {exc.code}"
""",
    ),
    Case("a quick exit", after="import atexit; atexit.register(os._exit, 7)"),
    Case(
        "fit in a thread",
        define="""
def fit(model, callbacks, data):
    import threading
    got = []
    thread = threading.Thread(target=lambda: got.append(model.fit(callbacks=callbacks, **data)))
    thread.start(); thread.join()
    return got[0]
""",
    ),
    Case(
        "fit in a running event loop",
        define="""
def fit(model, callbacks, data):
    import asyncio
    async def work(): return model.fit(callbacks=callbacks, **data)
    return asyncio.run(work())
""",
    ),
    Case(
        "a fork during the fit",
        define="""
class Forks(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        child = os.fork()
        if not child:
            os._exit(3)
        os.waitpid(child, 0)
def make_callbacks(): return [Forks()]
""",
    ),
    Case(
        "a deep copy of the callback",
        define="import copy",
        add="callbacks.append(copy.deepcopy(monitor))",
    ),
    Case(
        "early stopping and checkpoints",
        define="""
def make_callbacks():
    stops = keras.callbacks.EarlyStopping("loss", patience=1)
    return [stops, keras.callbacks.ModelCheckpoint("w.weights.h5", "loss", save_weights_only=True)]
""",
    ),
    _callback(
        "CSVLogger",
        'keras.callbacks.CSVLogger("log.csv")',
        after='found["csv"] = open("log.csv").read()',
    ),
    _callback("BackupAndRestore", 'keras.callbacks.BackupAndRestore("backup")'),
    _callback(
        "LambdaCallback",
        "keras.callbacks.LambdaCallback(on_epoch_end=lambda n, logs: count(str(sorted(logs))))",
    ),
    _callback(
        "ReduceLROnPlateau", 'keras.callbacks.ReduceLROnPlateau("loss", patience=0, min_delta=9.0)'
    ),
    _callback("TerminateOnNaN", "keras.callbacks.TerminateOnNaN()"),
    _callback(
        "LearningRateScheduler",
        "keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.5)",
    ),
    _callback("SwapEMAWeights", "keras.callbacks.SwapEMAWeights(swap_on_epoch=True)"),
    Case(
        "callbacks of the user's that are called as ours",
        monitor=_RELOAD,
        define="""
class SupervisedFitCallback(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None): count("tail")
class StopCallback(SupervisedFitCallback): pass
def make_callbacks(): return [SupervisedFitCallback(), StopCallback()]
""",
    ),
    Case(
        "a subclass",
        add="""
class My(MonitorCallback):
    def on_epoch_end(self, epoch, logs=None):
        super().on_epoch_end(epoch, logs)
callbacks.append(My())
""",
    ),
    Case(
        "a subclass of both",
        add="""
class My(MonitorCallback, keras.callbacks.Callback): pass
import copy
callbacks.append(copy.deepcopy(My()))
""",
    ),
    Case(
        "a subclass that forgets super",
        add="""
class My(MonitorCallback):
    def __init__(self): pass
callbacks.append(My())
""",
    ),
    Case(
        "a base with __init_subclass__",
        before="""
class Base:
    def __init_subclass__(cls, **named):
        count(f"subclass {cls.__name__}")
        super().__init_subclass__(**named)
""",
        add="""
class My(MonitorCallback, Base): pass
callbacks.append(My())
assert COUNTS.pop("subclass My") == 1, COUNTS
""",
    ),
    Case(
        "a class with the bases the other way round before it",
        before="""
class Base:
    def __init_subclass__(cls, **named):
        count(f"subclass {cls.__name__}")
        super().__init_subclass__(**named)
""",
        # Python refuses it once a callback of ours was made, as with any class of Keras'.
        monitor="Reverse()",
        define="""
if WITH:
    from kmonitor_agent import MonitorCallback
    class Reverse(keras.callbacks.Callback, MonitorCallback): pass
""",
        add="""
import copy
class My(MonitorCallback, Base): pass
callbacks += [copy.deepcopy(monitor), copy.deepcopy(My())]
assert type(callbacks[-1]) is My and COUNTS.pop("subclass My") == 1, COUNTS
""",
    ),
    Case(
        "a subclass that forgets super and knows no attribute",
        add="""
class My(MonitorCallback):
    def __init__(self): pass
    def __getattr__(self, name): raise AttributeError(name)
callbacks.append(My())
""",
    ),
    Case(
        "a subclass with slots and its own state",
        add="""
import copy
class My(MonitorCallback):
    __slots__ = ("x",)
class Own(MonitorCallback):
    def __getstate__(self): return {"only": 1}
    def __setstate__(self, state): self.only = state["only"]
with_slot = My(); with_slot.x = 3
callbacks += [copy.deepcopy(with_slot), copy.deepcopy(Own())]
assert callbacks[-2].x == 3 and callbacks[-1].only == 1
""",
    ),
    Case(
        "its class pickled",
        add="""
import pickle
kind = pickle.loads(pickle.dumps(type(monitor)))
callbacks.append(pickle.loads(pickle.dumps(monitor)))
""",
    ),
    Case(
        "weights saved and loaded",
        define="""
class Saves(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        self.model.save_weights("w.weights.h5"); self.model.load_weights("w.weights.h5")
def make_callbacks(): return [Saves()]
""",
    ),
    Case(
        "the model saved whole and loaded",
        define="""
def fit(model, callbacks, data):
    model.fit(callbacks=callbacks, **data)
    model.save("m.keras")
    return keras.saving.load_model("m.keras").fit(callbacks=callbacks, **data)
""",
    ),
    Case(
        "train_on_batch",
        define="""
def fit(model, callbacks, data):
    every = keras.callbacks.CallbackList(callbacks, model=model, epochs=1, steps=4)
    every.on_train_begin(); every.on_epoch_begin(0)
    for n in range(4):
        every.on_train_batch_begin(n)
        loss = model.train_on_batch(data["x"][:4], data["y"][:4])
        every.on_train_batch_end(n, {"loss": loss[0]})
    every.on_epoch_end(0, {"loss": loss[0]}); every.on_train_end()
    return [float(each) for each in loss]
""",
    ),
    Case(
        "a strategy on one device",
        define="""
import tensorflow as tf
strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
_make, _compile = make_model, compile_model
def make_model():
    with strategy.scope(): return _make()
def compile_model(model):
    with strategy.scope(): _compile(model)
""",
    ),
)
"""Ways of fitting, and callbacks beside ours."""
