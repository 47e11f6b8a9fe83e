"""Models, layers, optimizers, data and callbacks of the user's that notice each call."""

from typing import Final

from tests.promise.training import Case

_OWN_LAYER: Final = """
class Own(keras.layers.Dense):
    {body}
def make_model():
    return keras.Sequential([Own(3), keras.layers.Dense(1)])
"""

USER_CODE: Final = (
    Case(
        "a lambda as activation",
        define="""
def make_model():
    first = keras.layers.Dense(3, activation=lambda t: t * 2)
    return keras.Sequential([first, keras.layers.Dense(1)])
""",
    ),
    Case(
        "a get_config that draws and counts",
        define=_OWN_LAYER.format(
            body="""def get_config(self):
        count("get_config")
        random.random(), np.random.random(), keras.random.uniform((1,))
        return super().get_config()"""
        ),
    ),
    Case(
        "a get_config that makes an initializer",
        define=_OWN_LAYER.format(
            body="""def get_config(self):
        made = keras.initializers.GlorotUniform()
        return {**super().get_config(), "kernel_initializer": made}"""
        ),
    ),
    Case(
        "a get_config that raises",
        define=_OWN_LAYER.format(
            body="""def get_config(self):
        count("get_config")
        raise RuntimeError("no")"""
        ),
    ),
    Case(
        "a layer whose every access counts",
        define=_OWN_LAYER.format(
            body="""def __getattribute__(self, name):
        if not name.startswith("_"):
            count(name)
        return super().__getattribute__(name)"""
        ),
    ),
    Case(
        "a layer that is shown, compared, hashed and measured at a cost",
        define=_OWN_LAYER.format(
            body="""def __repr__(self):
        count("repr"); random.random(); return "own"
    def __str__(self):
        count("str"); random.random(); return "own"
    def __eq__(self, other):
        count("eq"); return self is other
    def __hash__(self):
        count("hash"); return id(self)
    def __len__(self):
        count("len"); return 0
    def __bool__(self):
        count("bool"); return True
    def __iter__(self):
        count("iter"); return iter(())"""
        ),
    ),
    Case(
        "a layer with properties that raise",
        define=_OWN_LAYER.format(
            body="""@property
    def units_twice(self):
        count("units_twice"); raise RuntimeError("no")
    @property
    def output(self):
        count("output"); raise RuntimeError("no")
    @property
    def input(self):
        count("input"); raise RuntimeError("no")
    @property
    def dtype_policy_name(self):
        count("policy"); raise RuntimeError("no")
    def count_params(self):
        count("count_params"); raise RuntimeError("no")"""
        ),
    ),
    Case(
        "a regularizer, constraint and initializer of the user's",
        define="""
class Reg(keras.regularizers.Regularizer):
    def __call__(self, x): return keras.ops.sum(x * x) * 0.01
    def get_config(self): count("reg"); return {}
class Con(keras.constraints.Constraint):
    def __call__(self, w): return w
    def get_config(self): count("con"); return {}
class Ini(keras.initializers.Initializer):
    def __call__(self, shape, dtype=None): count("ini"); return keras.ops.ones(shape, dtype)
    def get_config(self): count("ini config"); return {}
def make_model():
    own = {"kernel_regularizer": Reg(), "kernel_constraint": Con(), "kernel_initializer": Ini()}
    return keras.Sequential([keras.layers.Dense(3, **own), keras.layers.Dense(1)])
""",
    ),
    Case(
        "a callable as learning rate, eagerly",
        define="""
def rate():
    count("rate")
    return 0.01 / COUNTS["rate"]
def compile_model(model):
    model.compile(keras.optimizers.SGD(rate), "mse", run_eagerly=True)
""",
    ),
    Case(
        "a callable as learning rate, in a graph",
        define="""
def rate():
    count("rate")
    return 0.01 / COUNTS["rate"]
def compile_model(model):
    model.compile(keras.optimizers.SGD(rate), "mse")
""",
    ),
    Case(
        "a learning rate from an iterator that ends",
        define="""
rates = iter([0.1] * 8)
def compile_model(model):
    model.compile(keras.optimizers.SGD(lambda: next(rates)), "mse", run_eagerly=True)
""",
    ),
    Case(
        "a schedule of the user's that draws",
        define="""
import tensorflow as tf
class Own(keras.optimizers.schedules.LearningRateSchedule):
    def __call__(self, step):
        count("schedule")
        return 0.01 * (1 + tf.random.uniform(()))
    def get_config(self): count("config"); return {}
def compile_model(model):
    model.compile(keras.optimizers.SGD(Own()), "mse")
""",
    ),
    Case(
        "a schedule of the user's that draws, eagerly",
        define="""
class Own(keras.optimizers.schedules.LearningRateSchedule):
    def __call__(self, step):
        count("schedule")
        return 0.01 * (1 + random.random() + np.random.random())
    def get_config(self): count("config"); return {}
def compile_model(model):
    model.compile(keras.optimizers.SGD(Own()), "mse", run_eagerly=True)
""",
    ),
    Case(
        "a schedule of Keras'",
        define="""
def compile_model(model):
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 3, 0.9)
    model.compile(keras.optimizers.SGD(schedule), "mse")
""",
    ),
    Case(
        "a subclass of a schedule of Keras'",
        define="""
class Own(keras.optimizers.schedules.ExponentialDecay):
    def __call__(self, step):
        count("schedule")
        return super().__call__(step)
def compile_model(model):
    model.compile(keras.optimizers.SGD(Own(0.1, 3, 0.9)), "mse", run_eagerly=True)
""",
    ),
    Case(
        "an optimizer whose properties count",
        define="""
class Own(keras.optimizers.Adam):
    @property
    def learning_rate(self):
        count("learning_rate"); random.random()
        return self._learning_rate
    @learning_rate.setter
    def learning_rate(self, value):
        self._learning_rate.assign(value)
    def get_config(self):
        count("get_config"); random.random()
        return super().get_config()
    def __repr__(self): count("repr"); return "own"
def compile_model(model):
    model.compile(Own(0.01), "mse")
""",
    ),
    Case(
        "an optimizer whose get_config raises",
        define="""
class Own(keras.optimizers.SGD):
    def get_config(self): count("get_config"); raise RuntimeError("no")
def compile_model(model):
    model.compile(Own(0.01), "mse")
""",
    ),
    Case(
        "a log value with its own float",
        define="""
class Number(float):
    def __float__(self): count("float"); random.random(); return 1.5
    def __repr__(self): count("repr"); return "n"
    def __format__(self, spec): count("format"); return "n"
    def __eq__(self, other): count("eq"); return True
    __hash__ = float.__hash__
class Odd:
    def __float__(self): count("odd float"); random.random(); return 1.5
    def __array__(self, *a, **k): count("array"); return np.ones(())
    def __len__(self): count("len"); return 1
    def item(self): count("item"); return 1.5
    def numpy(self): count("numpy"); return 1.5
class Adds(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        logs["number"] = Number(2.5); logs["odd"] = Odd()
def make_callbacks():
    return [Adds()]
def fit(model, callbacks, data):
    model.fit(callbacks=callbacks, **data)
""",
    ),
    Case(
        "logs of a dict of the user's",
        define="""
class Logs(dict):
    def items(self): count("items"); random.random(); return super().items()
    def __getitem__(self, k): count("getitem"); return super().__getitem__(k)
    def get(self, k, d=None): count("get"); return super().get(k, d)
    def keys(self): count("keys"); return super().keys()
    def __iter__(self): count("iter"); return super().__iter__()
    def __len__(self): count("len"); return super().__len__()
def fit(model, callbacks, data):
    every = keras.callbacks.CallbackList(callbacks, model=model, epochs=1)
    every.on_train_begin()
    every.on_epoch_begin(0)
    for batch in range(3):
        every.on_train_batch_begin(batch)
        every.on_train_batch_end(batch, Logs(loss=1.0))
    every.on_epoch_end(0, Logs(loss=1.0))
    every.on_train_end(Logs(loss=1.0))
    model.build((None, 4))
""",
    ),
    Case(
        "a metric of the user's",
        define="""
class Own(keras.metrics.Mean):
    @property
    def variables(self):
        count("variables"); return super().variables
    def get_config(self): count("config"); random.random(); return super().get_config()
    def __repr__(self): count("repr"); random.random(); return "own"
class Metric(keras.metrics.MeanAbsoluteError):
    def get_config(self): count("mae config"); random.random(); return super().get_config()
    def __str__(self): count("str"); return "own"
def compile_model(model):
    model.compile("sgd", "mse", metrics=[Metric()])
""",
    ),
    Case(
        "a loss of the user's",
        define="""
class Own(keras.losses.Loss):
    def call(self, a, b): return keras.ops.mean((a - b) ** 2)
    def get_config(self): count("config"); random.random(); return {}
    def __repr__(self): count("repr"); raise RuntimeError("no")
def compile_model(model):
    model.compile("sgd", Own())
""",
    ),
    Case(
        "a PyDataset of the user's",
        define="""
class Data(keras.utils.PyDataset):
    def __len__(self): count("len"); return 4
    def __getitem__(self, i):
        count("item")
        return np.ones((4, 4), "float32") * np.random.random(), np.ones((4, 1), "float32")
    @property
    def num_batches(self): count("num"); return 4
    def on_epoch_end(self): count("end")
    def __getattr__(self, name): count(name); raise AttributeError(name)
def make_data():
    return {"x": Data(), "epochs": 2, "verbose": 0, "shuffle": False}
""",
    ),
    Case(
        "a generator as data",
        define="""
def data():
    while True:
        count("next")
        yield np.ones((4, 4), "float32") * np.random.random(), np.ones((4, 1), "float32")
def make_data():
    return {"x": data(), "epochs": 2, "steps_per_epoch": 3, "verbose": 0}
""",
        # Keras itself reads ahead in a thread; how far is left to chance at the end.
        after='COUNTS.clear(); found["draws"] = found["draws"][2:]',
    ),
    Case(
        "a tf.data set with a Python function",
        define="""
import tensorflow as tf
def row(n):
    return np.float32(np.random.random((4,))), np.float32([1.0])
def make_data():
    types = [tf.float32, tf.float32]
    data = tf.data.Dataset.range(12).map(lambda n: tf.numpy_function(row, [n], types))
    data = data.map(lambda a, b: (tf.ensure_shape(a, (4,)), tf.ensure_shape(b, (1,)))).batch(4)
    return {"x": data, "epochs": 2, "verbose": 0}
""",
    ),
    Case(
        "a model of the user's whose every access counts",
        define="""
class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.inner = keras.layers.Dense(1)
    def call(self, x):
        return self.inner(x)
    def get_config(self): count("get_config"); random.random(); return {}
    def __getattr__(self, name):
        if not name.startswith("_"): count(name)
        raise AttributeError(name)
    def summary(self, *a, **k): count("summary"); random.random()
    def count_params(self): count("count_params"); random.random(); return 1
    def get_layer(self, *a, **k): count("get_layer"); raise RuntimeError("no")
    def __len__(self): count("len"); return 0
    def __repr__(self): count("repr"); random.random(); return "own"
def make_model():
    return Own()
""",
        full=False,
    ),
    Case(
        "a model whose layers and weights are properties that count",
        define="""
class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.inner = keras.layers.Dense(1)
    def call(self, x): return self.inner(x)
    @property
    def extra(self): count("extra"); raise RuntimeError("no")
    @property
    def input_shape(self): count("input_shape"); random.random(); raise AttributeError("no")
    @property
    def output_shape(self): count("output_shape"); random.random(); raise AttributeError("no")
    @property
    def stateful(self): count("stateful"); random.random(); return False
def make_model():
    return Own()
""",
    ),
    Case(
        "an own train_step",
        define="""
import tensorflow as tf
class Own(keras.Sequential):
    def train_step(self, data):
        count("train_step")
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y, self(x, training=True))
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss, "noise": tf.random.uniform(())}
def make_model():
    return Own([keras.layers.Dense(1)])
""",
    ),
    Case(
        "an object with a class that lies",
        before="""
class Liar:
    @property
    def __class__(self):
        count("class"); raise RuntimeError("no")
    def __getattr__(self, name):
        count(name); raise RuntimeError("no")
    def __repr__(self):
        count("repr"); raise RuntimeError("no")
liars = [Liar() for _ in range(3)]
COUNTS.clear()
""",
    ),
    Case(
        "a metaclass that answers for instances",
        before="""
class Meta(type):
    def __instancecheck__(cls, other): count("instance"); return False
    def __subclasscheck__(cls, other): count("subclass"); return False
    def __getattr__(cls, name): count(name); raise AttributeError(name)
class Thing(metaclass=Meta): pass
things = [Thing() for _ in range(3)]
COUNTS.clear()
""",
    ),
    Case(
        "dead proxies",
        before="""
import weakref
class Gone: pass
proxies = [weakref.proxy(Gone()) for _ in range(3)]
""",
    ),
    Case(
        "objects with finalizers that draw",
        define="""
class Draws:
    def __del__(self): COUNTS["del"] = COUNTS.get("del", 0) + 1
class Makes(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None): Draws()
def make_callbacks(): return [Makes()]
""",
    ),
    Case(
        "a callback of the user's whose every access counts",
        define="""
class Own(keras.callbacks.Callback):
    def __getattr__(self, name): count(name); raise AttributeError(name)
    def __len__(self): count("len"); return 0
    def __bool__(self): count("bool"); return False
    def __eq__(self, other): count("eq"); return NotImplemented
    __hash__ = object.__hash__
    def __repr__(self): count("repr"); raise RuntimeError("no")
    def __reduce__(self): count("reduce"); raise RuntimeError("no")
    def __deepcopy__(self, memo): count("copy"); raise RuntimeError("no")
def make_callbacks(): return [Own()]
""",
    ),
    Case(
        "attributes of the model that count",
        define="""
class Holds:
    def __getattr__(self, name): count(name); raise RuntimeError("no")
    def __iter__(self): count("iter"); raise RuntimeError("no")
    def __len__(self): count("len"); raise RuntimeError("no")
def fit(model, callbacks, data):
    model.__dict__["held"] = Holds()
    COUNTS.clear()
    return model.fit(callbacks=callbacks, **data)
""",
    ),
    Case(
        "containers and elements of the user's in an own object",
        define="""
class D(dict):
    def values(self): count("values"); return super().values()
    def items(self): count("items"); return super().items()
    def __len__(self): count("dict len"); return super().__len__()
    def __iter__(self): count("dict iter"); return super().__iter__()
class Li(list):
    def __len__(self): count("list len"); return super().__len__()
    def __iter__(self): count("list iter"); return super().__iter__()
class E:
    @property
    def name(self): count("name"); random.random(); return "e"
class Act:
    def __init__(self): self.d, self.l, self.e = D(a=E()), Li([E()]), {E(), E()}
    def __call__(self, x): return x * 2
def make_model():
    act = Act()
    COUNTS.clear()
    return keras.Sequential([keras.layers.Dense(3, activation=act), keras.layers.Dense(1)])
""",
    ),
    Case(
        "a layer with a property named __dict__",
        define="""
import sys
class Own(keras.layers.Dense):
    @property
    def __dict__(self):
        if "kmonitor" in sys._getframe(1).f_code.co_filename: count("dict")
        return {}
class Act:
    def __init__(self): self.units = 1
    @property
    def __dict__(self): count("dict of act"); random.random(); return {}
    def __call__(self, x): return x * 2
def make_model():
    layers = [Own(3, activation=Act()), keras.layers.Dense(1)]
    return keras.Sequential(layers)
""",
    ),
    Case(
        "a model with a metaclass that counts",
        define="""
import sys
OURS = [False]
def ours(name):
    frame = sys._getframe(2)
    while frame is not None and OURS[0]:
        if "kmonitor_agent" in frame.f_code.co_filename: count(name); random.random(); return
        if "/keras/" in frame.f_code.co_filename: return
        frame = frame.f_back
class Meta(type):
    def __hash__(cls): ours("hash"); return type.__hash__(cls)
    def __eq__(cls, other): ours("eq"); return cls is other
    def __getattribute__(cls, name): ours(name); return type.__getattribute__(cls, name)
    @property
    def __name__(cls): ours("__name__"); return "Own"
    @property
    def __module__(cls): ours("__module__"); return "__main__"
    @property
    def __mro__(cls): ours("__mro__"); return type.__dict__["__mro__"].__get__(cls)
    def __repr__(cls): ours("repr"); return "own"
class Own(keras.Model, metaclass=Meta):
    def __init__(self):
        super().__init__()
        self.inner = keras.layers.Dense(1)
    def call(self, x): return self.inner(x)
    def __getattribute__(self, name):
        ours(name)
        return super().__getattribute__(name)
def make_model():
    return Own()
def fit(model, callbacks, data):
    OURS[0] = True
    try: return model.fit(callbacks=callbacks, **data)
    finally: OURS[0] = False
""",
    ),
    Case(
        "variables of the user's class with properties that draw",
        define="""
import sys
def ours(name):
    if "kmonitor" in sys._getframe(2).f_code.co_filename: count(name); random.random()
class Var(keras.Variable):
    @property
    def path(self): ours("path"); return super().path
    @property
    def name(self): ours("name"); return super().name
    @property
    def shape(self): ours("shape"); return super().shape
    @property
    def dtype(self): ours("dtype"); return super().dtype
    @property
    def value(self): ours("value"); return super().value
    @property
    def trainable(self): ours("trainable"); return True
    def numpy(self): ours("numpy"); return super().numpy()
class Own(keras.layers.Layer):
    def build(self, shape): self.w = Var(np.ones((shape[-1], 1), "float32"), name="w")
    def call(self, x): return keras.ops.matmul(x, self.w)
def make_model():
    return keras.Sequential([Own(), keras.layers.Dense(1)])
""",
    ),
    Case(
        "a schedule of Keras' that holds the user's numbers",
        define="""
class Rate(float):
    def __float__(self): count("float"); random.random(); return 0.1
    def __array__(self, *a, **k): count("array"); return np.float32(0.1)
    def __mul__(self, other): count("mul"); return 0.1 * other
def compile_model(model):
    schedule = keras.optimizers.schedules.ExponentialDecay(Rate(0.1), 3, 0.9)
    model.compile(keras.optimizers.SGD(schedule), "mse")
""",
    ),
    Case(
        "a schedule of Keras' that holds a list of the user's",
        define="""
class Steps(list):
    def __iter__(self): count("iter"); random.random(); return super().__iter__()
    def __getitem__(self, i): count("item"); return super().__getitem__(i)
    def __len__(self): count("len"); return super().__len__()
def compile_model(model):
    schedule = keras.optimizers.schedules.PiecewiseConstantDecay(Steps([2, 4]), [0.1, 0.05, 0.01])
    model.compile(keras.optimizers.SGD(schedule), "mse")
""",
    ),
    Case(
        "a schedule of Keras' whose call the user replaced",
        define="""
kind = keras.optimizers.schedules.CosineDecay
theirs = kind.__call__
def call(self, step):
    count("call"); random.random()
    return theirs(self, step)
kind.__call__ = call
def compile_model(model):
    model.compile(keras.optimizers.SGD(kind(0.1, 20)), "mse", run_eagerly=True)
""",
    ),
    Case(
        "classes of the user's that seem to be Python's",
        define="""
code = '''
class S(keras.optimizers.schedules.LearningRateSchedule):
    def __call__(self, step):
        count("schedule"); random.random()
        return 0.01
    def get_config(self): count("config"); return {}
class N(dict):
    def __float__(self): count("float"); random.random(); return 1.0
class Layer(keras.layers.Dense):
    @property
    def units_twice(self): count("units"); return 2
    @property
    def name(self): count("name"); return "own"
    @property
    def trainable(self): count("trainable"); return True
'''
names = {"keras": keras, "count": count, "random": random}
exec(code, names)
class Adds(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None): logs["number"] = names["N"]()
def make_callbacks(): return [Adds()]
def compile_model(model):
    model.compile(keras.optimizers.SGD(names["S"]()), "mse", run_eagerly=True)
""",
    ),
    Case(
        "a file of the user's that is named like a module of Python's",
        define="""
import sys, pathlib
folder = pathlib.Path(RESULT).parent / "more"
folder.mkdir()
(folder / "profile.py").write_text('''
import random
class Value:
    def __init__(self, count): self.count = count
    def __float__(self): self.count("float"); random.random(); return 1.0
    def __str__(self): self.count("str"); return "1"
    def __len__(self): self.count("len"); return 1
    def __repr__(self): return "v"
''')
sys.path.insert(0, str(folder))
sys.modules.pop("profile", None)
import profile
class Adds(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None): logs["number"] = profile.Value(count)
def make_callbacks(): return [Adds()]
""",
    ),
    Case(
        "a list of callbacks of the user's class",
        define="""
import sys
class Own(keras.callbacks.CallbackList):
    def __getattribute__(self, name):
        if "kmonitor" in sys._getframe(1).f_code.co_filename: count(name)
        return super().__getattribute__(name)
    def __hash__(self): count("hash"); return id(self)
    def __eq__(self, other): count("eq"); return self is other
def fit(model, callbacks, data):
    every = Own(callbacks, model=model, epochs=1)
    every.on_train_begin()
    every.on_epoch_begin(0)
    for batch in range(3):
        every.on_train_batch_begin(batch)
        every.on_train_batch_end(batch, {"loss": 1.0})
    every.on_epoch_end(0, {"loss": 1.0})
    every.on_train_end({"loss": 1.0})
    model.build((None, 4))
""",
    ),
)
"""Objects that could run the user's Python: counted, with draws, prints and exceptions."""
