# pyright: basic, reportArgumentType=false, reportOptionalOperand=false
# pyright: reportOptionalSubscript=false, reportGeneralTypeIssues=false, reportCallIssue=false
# pyright: reportIncompatibleMethodOverride=false, reportImplicitOverride=false
"""Models in the making of which the trace of a step had a part: ordinary and awkward ones."""

from collections.abc import Callable
from typing import Any

import keras
from keras import layers, ops

SIDE = 64
CLASSES = 10


def residual_groups() -> Any:
    """Residual blocks with group normalization and swish."""
    x = inputs = layers.Input((SIDE, SIDE, 3))
    x = layers.Conv2D(32, 3, padding="same")(x)
    for n in (32, 64, 96):
        y = layers.Activation("silu")(layers.GroupNormalization(8)(x))
        y = layers.Conv2D(n, 3, padding="same")(y)
        y = layers.Activation("silu")(layers.GroupNormalization(8)(y))
        y = layers.Conv2D(n, 3, padding="same")(y)
        x = layers.Add()([layers.Conv2D(n, 1)(x), y])
        x = layers.AveragePooling2D(2)(x)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(CLASSES, activation="softmax")(x))


def separable_u() -> Any:
    """Down and up by separable convolutions and resizing."""

    def block(x: Any, n: int) -> Any:
        x = layers.SeparableConv2D(n, 3, padding="same")(x)
        return layers.ReLU()(layers.BatchNormalization()(x))

    x = inputs = layers.Input((SIDE, SIDE, 3))
    x = skip = layers.Conv2D(32, 3, padding="same", activation="relu")(x)
    x = block(layers.MaxPooling2D()(x), 64)
    inner = block(x, 64)
    x = block(layers.MaxPooling2D()(inner), 128)
    x = layers.UpSampling2D(interpolation="bilinear")(x)
    x = block(layers.Concatenate()([x, inner]), 64)
    x = layers.UpSampling2D()(x)
    x = block(layers.Concatenate()([x, skip]), 32)
    model = keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid")(x))
    model.compile("rmsprop", "binary_crossentropy", jit_compile=False)
    return model


def translator() -> Any:
    """Encoder and decoder with attention across, causal on one side."""
    source, target = layers.Input((48,), dtype="int32"), layers.Input((56,), dtype="int32")
    words = layers.Embedding(4000, 128)
    x = words(source)
    y = layers.MultiHeadAttention(8, 16, dropout=0.1)(x, x)
    x = layers.LayerNormalization()(layers.Add()([x, y]))
    x = layers.Add()([x, layers.Dense(128)(layers.Dense(512, activation="relu")(x))])
    z = layers.Embedding(4000, 128)(target)
    y = layers.MultiHeadAttention(8, 16)(z, z, use_causal_mask=True)
    z = layers.LayerNormalization()(layers.Add()([z, y]))
    y = layers.MultiHeadAttention(8, 16)(z, x)
    z = layers.LayerNormalization()(layers.Add()([z, y]))
    z = layers.Dropout(0.1)(layers.Dense(512, activation="gelu")(z))
    return keras.Model([source, target], layers.Dense(4000, activation="softmax")(z))


def two_way_lstm() -> Any:
    """LSTM in both directions over embedded words."""
    inputs = layers.Input((60,), dtype="int32")
    x = layers.Embedding(10000, 256)(inputs)
    x = layers.Bidirectional(layers.LSTM(512, return_sequences=True))(x)
    x = layers.GlobalMaxPooling1D()(x)
    return keras.Model(inputs, layers.Dense(CLASSES, activation="softmax")(x))


def half_precision() -> Any:
    """Convolutions with batch normalization in mixed precision."""
    policy = "mixed_float16"
    x = inputs = layers.Input((SIDE, SIDE, 3))
    for n in (32, 64, 128):
        x = layers.Conv2D(n, 3, padding="same", use_bias=False, dtype=policy)(x)
        x = layers.BatchNormalization(dtype=policy)(x)
        x = layers.MaxPooling2D(dtype=policy)(layers.ReLU(dtype=policy)(x))
    x = layers.Flatten(dtype=policy)(x)
    x = layers.Dense(256, activation="relu", dtype=policy)(x)
    model = keras.Model(inputs, layers.Dense(CLASSES, activation="softmax", dtype="float32")(x))
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam())
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model


class Variational(keras.Model):
    """Its own step: reconstruction and divergence."""

    def __init__(self) -> None:
        super().__init__()
        self.coder = keras.Sequential(
            [
                layers.Input((SIDE, SIDE, 1)),
                layers.Conv2D(32, 3, 2, "same", activation="relu"),
                layers.Conv2D(64, 3, 2, "same", activation="relu"),
                layers.Flatten(),
                layers.Dense(64),
            ]
        )
        self.decoder = keras.Sequential(
            [
                layers.Input((32,)),
                layers.Dense(16 * 16 * 64, activation="relu"),
                layers.Reshape((16, 16, 64)),
                layers.Conv2DTranspose(64, 3, 2, "same", activation="relu"),
                layers.Conv2DTranspose(32, 3, 2, "same", activation="relu"),
                layers.Conv2D(1, 3, padding="same", activation="sigmoid"),
            ]
        )
        self.seeds = keras.random.SeedGenerator(1)

    def call(self, x: Any) -> Any:
        mean, spread = ops.split(self.coder(x), 2, axis=-1)
        noise = keras.random.normal(ops.shape(mean), seed=self.seeds)
        divergence: Any = ops.mean(1 + spread - mean**2 - ops.exp(spread))
        divergence = -0.5 * divergence
        self.add_loss(divergence)
        return self.decoder(mean + ops.exp(0.5 * spread) * noise)


def variational() -> Any:
    """A variational autoencoder as a subclass with its own loss."""
    model = Variational()
    model.build((None, SIDE, SIDE, 1))
    model.compile("adam", "binary_crossentropy", jit_compile=False)
    return model


def picture_and_table() -> Any:
    """A picture and a row of numbers, two outputs."""
    picture, table = layers.Input((SIDE, SIDE, 3)), layers.Input((200,))
    x = layers.Conv2D(48, 5, strides=2, activation="elu")(picture)
    x = layers.SpatialDropout2D(0.2)(layers.Conv2D(96, 3, activation="elu")(x))
    x = layers.Flatten()(layers.MaxPooling2D(3)(x))
    y = layers.Dropout(0.4)(layers.Dense(1024, activation="selu")(table))
    z = layers.Dense(512, activation="tanh")(layers.Concatenate()([x, y]))
    model = keras.Model([picture, table], [layers.Dense(5)(z), layers.Dense(1)(z)])
    model.compile("adam", ["mse", "mae"], jit_compile=False)
    return model


def inverted() -> Any:
    """Narrow, wide and depthwise, narrow again; with momentum."""
    x = inputs = layers.Input((SIDE, SIDE, 3))
    x = layers.Conv2D(24, 3, strides=2, padding="same")(x)
    for _ in range(4):
        y = layers.BatchNormalization()(layers.Conv2D(144, 1, use_bias=False)(x))
        y = layers.ReLU(max_value=6)(y)
        y = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(y)
        y = layers.ReLU(max_value=6)(layers.BatchNormalization()(y))
        x = layers.Add()([x, layers.BatchNormalization()(layers.Conv2D(24, 1)(y))])
    x = layers.GlobalAveragePooling2D()(x)
    model = keras.Model(inputs, layers.Dense(CLASSES, activation="softmax")(x))
    optimizer = keras.optimizers.SGD(0.01, momentum=0.9, nesterov=True)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model


def gated_waves() -> Any:
    """Dilated convolutions over time with gates and skips."""
    x = inputs = layers.Input((1024, 1))
    x = layers.Conv1D(48, 2, padding="causal")(x)
    skips = []
    for dilation in (1, 2, 4, 8, 16, 32):
        wave = layers.Conv1D(48, 2, padding="causal", dilation_rate=dilation, activation="tanh")(x)
        gate = layers.Conv1D(
            48, 2, padding="causal", dilation_rate=dilation, activation="sigmoid"
        )(x)
        y = layers.Conv1D(48, 1)(layers.Multiply()([wave, gate]))
        skips.append(y)
        x = layers.Add()([x, y])
    x = layers.ReLU()(layers.Add()(skips))
    return keras.Model(inputs, layers.Dense(256, activation="softmax")(x))


def rows_of_gru() -> Any:
    """Three GRUs, each returning its sequence."""
    x = inputs = layers.Input((80, 64))
    for n in (384, 384, 256):
        x = layers.GRU(n, return_sequences=True)(x)
    x = layers.TimeDistributed(layers.Dense(64, activation="relu"))(x)
    model = keras.Model(inputs, layers.Dense(1)(x))
    model.compile("adam", "mse", jit_compile=False)
    return model


def wide_dense() -> Any:
    """Wide dense layers with batch normalization; gradients clipped together."""
    x = inputs = layers.Input((1500,))
    for _ in range(4):
        x = layers.Dense(1800, use_bias=False)(x)
        x = layers.LeakyReLU()(layers.BatchNormalization()(x))
        x = layers.Dropout(0.3)(x)
    model = keras.Model(inputs, layers.Dense(CLASSES, activation="softmax")(x))
    optimizer = keras.optimizers.AdamW(1e-3, global_clipnorm=1.0)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model


class ByHand(layers.Layer):
    """Attention written out, with a gate."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def build(self, shape: Any) -> None:
        self.w = [self.add_weight((shape[-1], self.width), name=f"w{i}") for i in range(4)]

    def call(self, x: Any) -> Any:
        query, key, value, gate = (ops.matmul(x, each) for each in self.w)
        scores = ops.einsum("bid,bjd->bij", query, key) / self.width**0.5
        weights = ops.exp(scores - ops.max(scores, axis=-1, keepdims=True))
        weights = weights / ops.sum(weights, axis=-1, keepdims=True)
        mixed = ops.einsum("bij,bjd->bid", weights, value)
        return (
            mixed
            * ops.sigmoid(gate)
            * ops.rsqrt(ops.mean(ops.square(mixed), -1, keepdims=True) + 1e-6)
        )


def written_out() -> Any:
    """Layers of the user's own, by plain operations."""
    x = inputs = layers.Input((160, 96))
    for _ in range(3):
        x = layers.Add()([x, ByHand(96)(x)])
        x = layers.Add()([x, layers.Dense(96)(layers.Dense(256, activation="mish")(x))])
    x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(inputs, layers.Dense(CLASSES, activation="softmax")(x))


MADE_WITH: dict[str, Callable[[], Any]] = {
    made.__name__: made
    for made in (
        residual_groups, separable_u, translator, two_way_lstm, half_precision, variational,
        picture_and_table, inverted, gated_waves, rows_of_gru, wide_dense, written_out,
    )
}  # fmt: skip
"""The simulation was made with these."""
