# pyright: basic, reportArgumentType=false, reportOptionalOperand=false, reportOperatorIssue=false
# pyright: reportOptionalSubscript=false, reportGeneralTypeIssues=false, reportCallIssue=false
# pyright: reportIncompatibleMethodOverride=false, reportImplicitOverride=false
"""Models put together by chance from every family of layers, for errors out of sample."""

from random import Random
from typing import TYPE_CHECKING, Any

import keras
from keras import layers, ops

if TYPE_CHECKING:
    from collections.abc import Callable

PREFIX = "random_"
"""A random model's name is this and its seed."""

HELD_OUT = tuple(f"{PREFIX}{seed}" for seed in range(3000, 3016))
"""Never checked one by one."""

ACTIVATIONS = (
    "relu", "gelu", "silu", "elu", "tanh", "sigmoid", "leaky_relu", "softplus", "mish", "selu",
    "hard_swish", None, None,
)  # fmt: skip
LAST = "softmax"


class Scaled(layers.Layer):
    """A class of no framework's: norms, a learned scale and some functions."""

    def build(self, shape: Any) -> None:
        self.scale = self.add_weight((shape[-1],), initializer="ones")

    def call(self, x: Any) -> Any:
        size = ops.sqrt(ops.mean(ops.square(x), axis=-1, keepdims=True) + 1e-6)
        return ops.tanh(x / size) * self.scale + x


class Mixed(layers.Layer):
    """A class of no framework's that has layers in it."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.up, self.down = layers.Dense(2 * n, activation="gelu"), layers.Dense(n)
        self.norm = layers.LayerNormalization()

    def build(self, shape: Any) -> None:
        self.norm.build(shape)
        self.up.build(shape)
        self.down.build((*shape[:-1], self.up.units))

    def call(self, x: Any) -> Any:
        return ops.multiply(self.down(self.up(self.norm(x))), ops.sigmoid(x))


class Stepped(keras.Model):
    """Its own step that looks at its inputs twice."""

    def train_step(self, data: Any) -> Any:
        import tensorflow as tf  # noqa: PLC0415 - a step of TensorFlow's own

        x, y = data
        with tf.GradientTape() as tape:
            told = self(x, training=True)
            again = self(x, training=True)
            loss = self.compute_loss(x=x, y=y, y_pred=told)
            loss = loss + 0.1 * tf.reduce_mean(tf.square(told - again))
        found = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(found, self.trainable_variables, strict=True))
        return {"loss": loss}


class _Made:
    """One model in the making."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 - the same model each time
        self.width = self.one(16, 24, 32, 48, 64)
        self.shared: dict[Any, Any] = {}

    def one(self, *of: Any) -> Any:
        return self.random.choice(of)

    def happens(self, share: float) -> bool:
        return self.random.random() < share

    def function(self) -> Any:
        return self.random.choice(ACTIVATIONS)

    def block(self, x: Any) -> Any:
        """Some layer or small network that keeps the number of axes."""
        families: dict[int, tuple[Callable[[Any], Any], ...]] = {
            2: (self.dense, self.dense, self.between),
            3: (self.series, self.series, self.between, self.attended, self.recurrent),
            4: (self.picture, self.picture, self.picture, self.between, self.squeezed, self.up),
            5: (self.volume, self.volume, self.between, self.film),
        }
        others = (self.nested, self.joined, self.repeated)
        make = self.random.choice((*families[len(x.shape)], *others))
        return make(x)

    def dense(self, x: Any) -> Any:
        n = self.one(128, 512, 1024, 2048)
        more = {"kernel_regularizer": "l2"} if self.happens(0.15) else {}
        return layers.Dense(n, activation=self.function(), **more)(x)

    def picture(self, x: Any) -> Any:
        n, size = self.width * self.one(1, 1, 2), self.one(1, 3, 3, 5)
        strides = self.one(1, 1, 2) if x.shape[1] >= 16 else 1
        given = {"padding": "same", "activation": self.function()}
        return self.one(
            lambda: layers.Conv2D(n, size, strides=strides, use_bias=self.happens(0.5), **given),
            lambda: layers.Conv2D(n, size, strides=strides, **given),
            lambda: layers.SeparableConv2D(n, size, strides=strides, **given),
            lambda: layers.DepthwiseConv2D(size, strides=strides, **given),
            lambda: layers.Conv2D(n, 3, dilation_rate=2, **given),
            lambda: self.one(layers.MaxPooling2D, layers.AveragePooling2D)(2, padding="same"),
        )()(x)

    def up(self, x: Any) -> Any:
        if x.shape[1] > 32:
            return self.one(layers.MaxPooling2D, layers.AveragePooling2D)(2)(x)
        return self.one(
            layers.Conv2DTranspose(self.width, 3, strides=2, padding="same"),
            layers.UpSampling2D(2, interpolation=self.one("nearest", "bilinear")),
            layers.ZeroPadding2D(2),
            layers.Resizing(2 * x.shape[1], 2 * x.shape[2]),
        )(x)

    def squeezed(self, x: Any) -> Any:
        n = x.shape[-1]
        s = layers.GlobalAveragePooling2D(keepdims=True)(x)
        s = layers.Dense(max(4, n // 4), activation="relu")(s)
        return layers.Multiply()([x, layers.Dense(n, activation="sigmoid")(s)])

    def series(self, x: Any) -> Any:
        n, given = self.width * self.one(2, 4), {"activation": self.function()}
        return self.one(
            lambda: layers.Conv1D(n, 3, padding=self.one("same", "causal"), **given),
            lambda: layers.SeparableConv1D(n, 3, padding="same", **given),
            lambda: layers.DepthwiseConv1D(3, padding="same", **given),
            lambda: layers.Dense(n, **given),
            lambda: layers.EinsumDense("abc,cd->abd", (None, n), bias_axes="d", **given),
            lambda: layers.TimeDistributed(layers.Dense(n, **given)),
            lambda: layers.MaxPooling1D(2, padding="same"),
        )()(x)

    def recurrent(self, x: Any) -> Any:
        n, given = self.one(64, 128, 256), {"return_sequences": True}
        return self.one(
            lambda: layers.LSTM(n, **given),
            lambda: layers.GRU(n, **given),
            lambda: layers.SimpleRNN(n, **given),
            lambda: layers.Bidirectional(self.one(layers.LSTM, layers.GRU)(n, **given)),
        )()(x)

    def attended(self, x: Any) -> Any:
        heads, n = self.one(2, 4, 8), x.shape[-1]
        y = layers.LayerNormalization()(x) if self.happens(0.7) else x
        rate = self.one(0.0, 0.1)
        if self.happens(0.2):
            y = layers.GroupQueryAttention(max(8, n // heads), heads, heads // 2)(y, y)
        elif self.happens(0.2):
            y = self.one(layers.Attention, layers.AdditiveAttention)()([y, y])
        else:
            y = layers.MultiHeadAttention(heads, max(8, n // heads), dropout=rate)(y, y)
        return layers.Add()([x, y])

    def volume(self, x: Any) -> Any:
        n = self.one(8, 16)
        if self.happens(0.25):
            return layers.MaxPooling3D(2, padding="same")(x)
        return layers.Conv3D(n, 3, padding="same", activation=self.function())(x)

    def film(self, x: Any) -> Any:
        if self.happens(0.5):
            inner = layers.Conv2D(16, 3, padding="same", activation=self.function())
            return layers.TimeDistributed(inner)(x)
        return layers.ConvLSTM2D(self.one(8, 16), 3, padding="same", return_sequences=True)(x)

    def between(self, x: Any) -> Any:
        """Norms, noise, functions: the shape stays."""
        axes = tuple(range(1, len(x.shape) - 1))
        groups = next(each for each in (8, 4, 3, 2, 1) if x.shape[-1] % each == 0)
        made = [
            layers.BatchNormalization,
            layers.BatchNormalization,
            layers.LayerNormalization,
            lambda: layers.GroupNormalization(groups),
            layers.RMSNormalization,
            layers.UnitNormalization,
            lambda: layers.Activation(self.function() or "relu"),
            layers.ReLU,
            layers.LeakyReLU,
            lambda: layers.PReLU(shared_axes=axes or None),
            lambda: layers.Dropout(0.3),
            lambda: layers.GaussianDropout(0.2),
            lambda: layers.GaussianNoise(0.1),
            lambda: layers.AlphaDropout(0.1),
            Scaled,
            lambda: Mixed(x.shape[-1]),
            lambda: layers.Lambda(lambda z: ops.sin(z) * z + ops.exp(-ops.square(z))),
        ]
        x = self.random.choice(made)()(x)
        if self.happens(0.15):
            return ops.relu(x) * 0.5 + ops.sigmoid(x) * x
        return x

    def nested(self, x: Any) -> Any:
        """A model in the model; the next of that shape is often the same one."""
        key = tuple(x.shape[1:])
        if key not in self.shared or self.happens(0.4):
            inner = y = layers.Input(key)
            for _ in range(self.one(1, 2, 3)):
                y = self.between(y) if self.happens(0.4) else self.block(y)
            self.shared[key] = keras.Model(inner, y)
        return self.shared[key](x)

    def repeated(self, x: Any) -> Any:
        """One layer called several times, with or without a sum around it."""
        n = x.shape[-1]
        given = {"padding": "same", "activation": self.function()}
        layer = {
            2: lambda: layers.Dense(n, activation=self.function()),
            3: lambda: layers.Conv1D(n, 3, **given),
            4: lambda: self.one(layers.Conv2D, layers.SeparableConv2D)(n, 3, **given),
            5: lambda: layers.Conv3D(n, 3, **given),
        }[len(x.shape)]()
        is_added = self.happens(0.5)
        for _ in range(self.one(2, 3, 4, 6)):
            x = layers.Add()([x, layer(x)]) if is_added else layer(x)
        return x

    def joined(self, x: Any) -> Any:
        """Branches side by side, put together again."""
        found = [x, *(self.block(x) for _ in range(self.one(1, 2)))]
        same = [each for each in found if each.shape[1:-1] == x.shape[1:-1]]
        if len(same) == 1:
            return found[-1]
        how = self.one("sum", "product", "side by side", "most")
        if how == "side by side":
            return layers.Concatenate()(same)
        same = [each if each.shape[-1] == x.shape[-1] else layers.Dense(x.shape[-1])(each)
                for each in same]  # fmt: skip
        kinds = {"sum": layers.Add, "product": layers.Multiply, "most": layers.Maximum}
        return kinds[how]()(same)

    def given(self) -> Any:
        """Inputs, and what the first block gets."""
        how = self.random.choices(
            ("picture", "series", "text", "values", "volume"), (45, 20, 15, 12, 8)
        )[0]
        if how == "picture":
            side = self.one(32, 48, 64, 96)
            inputs = layers.Input((side, side, self.one(1, 3)))
            first = layers.Conv2D(
                self.width, self.one(3, 5), padding="same", strides=self.one(1, 2)
            )
            return inputs, first(inputs)
        if how == "series":
            inputs = layers.Input((self.one(64, 128, 256), self.one(16, 64)))
            return inputs, layers.Conv1D(4 * self.width, 3, padding="same")(inputs)
        if how == "text":
            inputs = layers.Input((self.one(64, 128),), dtype="int32")
            return inputs, layers.Embedding(self.one(1000, 10000), 4 * self.width)(inputs)
        if how == "values":
            inputs = layers.Input((self.one(256, 1024),))
            return inputs, layers.Dense(1024, activation="relu")(inputs)
        inputs = layers.Input((8, 32, 32, self.one(1, 2)))
        return inputs, layers.Conv3D(8, 3, padding="same")(inputs)

    def model(self) -> Any:
        """The whole, compiled."""
        precision = "mixed_float16" if self.happens(0.12) else "float32"
        is_compiled = self.happens(0.08)
        keras.config.set_dtype_policy(precision)
        inputs, x = self.given()
        for _ in range(self.random.randint(4, 14)):
            x = self.block(x)
        if self.happens(0.2) and len(x.shape) == 4:
            x, loss = layers.Conv2D(1, 1, dtype="float32")(x), self.one("mse", "mae")
        else:
            n = self.one(10, 10, 100, 2000)
            x = layers.Dense(n, activation=LAST, dtype="float32")(self.flat(x))
            loss = "sparse_categorical_crossentropy"
        keras.config.set_dtype_policy("float32")
        model = (Stepped if self.happens(0.06) else keras.Model)(inputs, x)
        if self.happens(0.1):
            for each in model.layers[: len(model.layers) // 2]:
                each.trainable = False
        model.compile(self.optimizer(precision), loss, jit_compile=is_compiled)
        return model

    def flat(self, x: Any) -> Any:
        n_axes = len(x.shape) - 2
        if not n_axes:
            return x
        if self.happens(0.25):
            return layers.Flatten()(x)
        kind = self.one("Average", "Max")
        return getattr(layers, f"Global{kind}Pooling{n_axes}D")()(x)

    def optimizer(self, precision: str) -> Any:
        made = self.one(
            "adam", "adam", "adamw", "sgd", "rmsprop", "adagrad", "nadam", "lion",
            keras.optimizers.SGD(0.01, momentum=0.9),
            keras.optimizers.Adam(global_clipnorm=1.0),
            keras.optimizers.Adam(clipnorm=1.0),
        )  # fmt: skip
        made = keras.optimizers.get(made)
        return made if precision == "float32" else keras.optimizers.LossScaleOptimizer(made)


def random_model(seed: int) -> Any:
    """A model, compiled; the same for the same seed."""
    keras.utils.set_random_seed(seed)
    return _Made(seed).model()
