"""Classes of the user's that override all that Keras' have, and notice when we access it.

The cases of `user_code` compare how often the script's code ran; here every method, property and
access counts, and draws, as soon as a function of kmonitor is among its callers.
"""

from typing import Final

from tests.promise.training import Case

_NOTICES: Final = """
import functools, sys
LEFT = {"__new__", "__init__", "__dict__", "__weakref__", "__init_subclass__", "__getattribute__",
    "__setattr__", "__delattr__", "__reduce__"}
# `kmonitor run` keeps how a model was built, and on JAX has `fit` give the values back.
LEFT |= {"get_build_config", "_build_shapes_dict", "_build_input_shape"}
LEFT |= {"jax_state_sync", "_jax_state"}
LEFT |= {"call", "train_step"} if keras.__name__ == "tf_keras" else set()  # by their signatures
def notice(label):
    frame = sys._getframe(2)
    while frame is not None:
        if "/kmonitor_agent/" in frame.f_code.co_filename:
            count(label); random.random(); np.random.random()
            return
        frame = frame.f_back
def noticed(label, function):
    @functools.wraps(function)
    def call(self, *args, **named):
        notice(label)
        return function(self, *args, **named)
    return call
def overridden(kind):
    own, name = {}, kind.__name__
    members = [(n, each) for base in kind.__mro__ for n, each in vars(base).items()]
    members = [(n, each) for n, each in members if n not in LEFT and n not in dir(object)]
    members += [(n, getattr(kind, n)) for n in ("__repr__", "__str__", "__eq__", "__hash__")]
    for n, each in members:
        label = f"{name}.{n}"
        if isinstance(each, property):
            parts = (each.fget, each.fset, each.fdel)
            own.setdefault(n, property(*(p and noticed(label, p) for p in parts)))
        elif callable(each) and not isinstance(each, (type, staticmethod, classmethod)):
            own.setdefault(n, noticed(label, each))
    def get(self, n):
        if n not in LEFT: notice(f"{name}->{n}")
        return super(made, self).__getattribute__(n)
    def put(self, n, value):
        notice(f"{name}<-{n}")
        super(made, self).__setattr__(n, value)
    made = type(kind)("Own" + name, (kind,), {**own, "__getattribute__": get, "__setattr__": put})
    return made
"""

_TRAINING: Final = """
class Act:
    @property
    def __name__(self): notice("act name"); return "act"
    def __call__(self, x): notice("act"); return x * 2
    def __repr__(self): notice("act repr"); return "act"
def make_layers():
    own = {
        "kernel_regularizer": overridden(keras.regularizers.L2)(0.1),
        "kernel_initializer": overridden(keras.initializers.GlorotUniform)(seed=3),
        "kernel_constraint": overridden(keras.constraints.MaxNorm)(2),
    }
    Dense = overridden(keras.layers.Dense)
    normal, drop = overridden(keras.layers.BatchNormalization), overridden(keras.layers.Dropout)
    return [Dense(3, activation=Act(), **own), normal(), drop(0.2, seed=4), Dense(1)]
def compile_model(model):
    rate = overridden(keras.optimizers.schedules.ExponentialDecay)(0.01, 3, 0.9)
    metric = overridden(keras.metrics.MeanAbsoluteError)
    loss = overridden(keras.losses.MeanSquaredError)()
    model.compile(overridden(keras.optimizers.Adam)(rate), loss, metrics=[metric(), metric("b")])
class Number(float):
    def __repr__(self): return "number"
class Adds(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None): logs["own"] = overridden(Number)(2.5)
def make_callbacks():
    return [overridden(Adds)(), overridden(keras.callbacks.EarlyStopping)("loss")]
class Data(getattr(keras.utils, "PyDataset", None) or keras.utils.Sequence):
    def __len__(self): return 4
    def __getitem__(self, i): return np.ones((4, 4), "float32") * i, np.ones((4, 1), "float32")
def make_data():
    data = overridden(Data)
    return {"x": data(), "validation_data": data(), "epochs": 2, "verbose": 0, "shuffle": False}
"""

_SUBCLASS: Final = """
class Plain(keras.Model):
    def __init__(self):
        super().__init__()
        self.parts = make_layers()
        self.mean = overridden(keras.metrics.Mean)(name="mine")
    def call(self, x):
        for each in self.parts: x = each(x)
        return x
def make_model(): return overridden(Plain)()
"""

_FUNCTIONAL: Final = """
from keras.src.models.functional import Functional
def make_model():
    inputs = keras.Input((4,))
    inner = overridden(keras.Sequential)([keras.Input((4,)), *make_layers()])
    return overridden(Functional)(inputs, overridden(keras.layers.Dense)(1)(inner(inputs)))
"""

_ALL: Final = _NOTICES + _TRAINING

OVERRIDDEN: Final = (
    Case("all overridden in a subclass", define=_ALL + _SUBCLASS),
    Case("all overridden in a functional model", define=_ALL + _FUNCTIONAL),
    Case(
        "all overridden, figures in the logs",
        define=_ALL + _SUBCLASS,
        monitor="MonitorCallback(logs=True)",
        after='found.pop("history", None)',
    ),
    Case(
        "all overridden under kmonitor run",
        define=_ALL + _SUBCLASS,
        supervised=True,
        lines=9,
    ),
    Case(
        "all overridden in a functional model under kmonitor run",
        define=_ALL + _FUNCTIONAL,
        supervised=True,
        lines=9,
    ),
    Case(
        "a get_config that draws, saved",
        define="""
class Own(keras.layers.Dense):
    def get_config(self):
        random.random(), np.random.random(), keras.random.uniform((1,)), keras.layers.Dense(1)
        return super().get_config()
def make_model(): return keras.Sequential([Own(3), keras.layers.Dropout(0.3), Own(1)])
""",
        add='callbacks.append(monitor); monitor.request("save")',
        after="assert not WITH or monitor.records and all(each.ok for each in monitor.records)",
    ),
)
"""Every class that a training is made of, overridden by the script."""
