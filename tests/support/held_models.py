# pyright: basic, reportArgumentType=false, reportOptionalOperand=false
# pyright: reportOptionalSubscript=false, reportGeneralTypeIssues=false, reportCallIssue=false
# pyright: reportIncompatibleMethodOverride=false, reportImplicitOverride=false
"""Models that were measured once the simulation of a traced step stood."""

from collections.abc import Callable
from typing import Any

import keras
from keras import layers, ops

SIDE = 64
CLASSES = 10


def _normalized(x: Any, n: int, size: int, **more: Any) -> Any:
    x = layers.Conv2D(n, size, padding="same", use_bias=False, **more)(x)
    return layers.ReLU()(layers.BatchNormalization()(x))


def branches() -> Any:
    """Convolutions of several sizes side by side."""
    x = inputs = layers.Input((SIDE, SIDE, 3))
    x = _normalized(x, 32, 3, strides=2)
    for n in (24, 32, 48):
        one = _normalized(x, n, 1)
        three = _normalized(_normalized(x, n, 1), n, 3)
        five = _normalized(_normalized(x, n // 2, 1), n, 5)
        pooled = _normalized(layers.MaxPooling2D(3, 1, "same")(x), n, 1)
        x = layers.Concatenate()([one, three, five, pooled])
    x = layers.Dropout(0.4)(layers.GlobalAveragePooling2D()(x))
    return keras.Model(inputs, layers.Dense(CLASSES, activation="softmax")(x))


def windows() -> Any:
    """Attention within windows of a picture, cut out by reshaping."""
    x = inputs = layers.Input((SIDE, SIDE, 3))
    x = layers.Conv2D(64, 2, strides=2)(x)
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        y = layers.Reshape((4, 8, 4, 8, 64))(y)
        y = layers.Reshape((16, 64, 64))(layers.Permute((1, 3, 2, 4, 5))(y))
        y = layers.MultiHeadAttention(4, 16, attention_axes=2)(y, y)
        y = layers.Permute((1, 3, 2, 4, 5))(layers.Reshape((4, 4, 8, 8, 64))(y))
        x = layers.Add()([x, layers.Reshape((32, 32, 64))(y)])
        y = layers.Dense(192, activation="gelu")(layers.LayerNormalization()(x))
        x = layers.Add()([x, layers.Dense(64)(y)])
    x = layers.GlobalAveragePooling2D()(x)
    model = keras.Model(inputs, layers.Dense(CLASSES, activation="softmax")(x))
    model.compile("adamw", "sparse_categorical_crossentropy", jit_compile=False)
    return model


def excited() -> Any:
    """Residual blocks whose channels are scaled; momentum."""
    x = inputs = layers.Input((SIDE, SIDE, 3))
    x = _normalized(x, 48, 7, strides=2)
    for n in (48, 96):
        y = layers.BatchNormalization()(layers.Conv2D(n, 3, padding="same")(_normalized(x, n, 3)))
        scale = layers.GlobalAveragePooling2D(keepdims=True)(y)
        scale = layers.Conv2D(n, 1, activation="sigmoid")(
            layers.Conv2D(n // 8, 1, activation="relu")(scale)
        )
        y = layers.Multiply()([y, scale])
        x = layers.ReLU()(layers.Add()([y, layers.Conv2D(n, 1)(x)]))
        x = layers.MaxPooling2D()(x)
    x = layers.GlobalAveragePooling2D()(x)
    model = keras.Model(inputs, layers.Dense(CLASSES, activation="softmax")(x))
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9)
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model


def words_at_once() -> Any:
    """A large table of words and convolutions of three widths over it."""
    inputs = layers.Input((300,), dtype="int32")
    x = layers.Dropout(0.3)(layers.Embedding(30000, 100)(inputs))
    found = [
        layers.GlobalMaxPooling1D()(layers.Conv1D(128, width, activation="relu")(x))
        for width in (3, 4, 5)
    ]
    x = layers.Dropout(0.5)(layers.Concatenate()(found))
    return keras.Model(inputs, layers.Dense(CLASSES, activation="softmax")(x))


def film_of_cells() -> Any:
    """A convolutional LSTM over short films."""
    x = inputs = layers.Input((8, 32, 32, 2))
    x = layers.ConvLSTM2D(24, 3, padding="same", return_sequences=True)(x)
    x = layers.BatchNormalization()(x)
    x = layers.Conv3D(1, 3, padding="same", activation="sigmoid")(x)
    model = keras.Model(inputs, x)
    model.compile("adam", "binary_crossentropy", jit_compile=False)
    return model


def dilated() -> Any:
    """Dilated convolutions side by side, resized to the input's size."""
    x = inputs = layers.Input((SIDE, SIDE, 3))
    x = low = _normalized(x, 32, 3, strides=2)
    x = _normalized(x, 64, 3, strides=2)
    parts = [_normalized(x, 48, 3, dilation_rate=rate) for rate in (1, 2, 4)]
    x = _normalized(layers.Concatenate()(parts), 64, 1)
    x = layers.Resizing(32, 32)(x)
    x = _normalized(layers.Concatenate()([x, low]), 48, 3)
    x = layers.UpSampling2D(2, interpolation="bilinear")(layers.Conv2D(8, 1)(x))
    return keras.Model(inputs, layers.Softmax()(x))


class Apart(layers.Layer):
    """Distance between two codes."""

    def call(self, first: Any, second: Any) -> Any:
        return ops.sqrt(ops.sum(ops.square(first - second), axis=-1, keepdims=True) + 1e-9)


def siblings() -> Any:
    """One encoder for two pictures, and their distance."""
    encoder = keras.Sequential([layers.Input((SIDE, SIDE, 1))])
    for n in (32, 64, 64):
        encoder.add(layers.Conv2D(n, 3, activation="relu", padding="same"))
        encoder.add(layers.MaxPooling2D())
    encoder.add(layers.Flatten())
    encoder.add(layers.Dense(128))
    encoder.add(layers.UnitNormalization())
    left, right = layers.Input((SIDE, SIDE, 1)), layers.Input((SIDE, SIDE, 1))
    x = Apart()(encoder(left), encoder(right))
    return keras.Model([left, right], layers.Dense(1, activation="sigmoid")(x))


def denoiser() -> Any:
    """Dense layers in and out, with noise and penalties."""
    x = inputs = layers.Input((2500,))
    x = layers.GaussianNoise(0.2)(x)
    for n in (1200, 300, 60, 300, 1200):
        x = layers.Dense(n, activation="gelu", kernel_regularizer="l2")(x)
    model = keras.Model(inputs, layers.Dense(2500)(x))
    model.compile("rmsprop", "mse", jit_compile=False)
    return model


def half_transformer() -> Any:
    """Two blocks of attention in mixed precision."""
    keras.config.set_dtype_policy("mixed_float16")
    inputs = layers.Input((96,), dtype="int32")
    x = layers.Embedding(6000, 160)(inputs)
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        x = layers.Add()([x, layers.MultiHeadAttention(5, 32, dropout=0.1)(y, y)])
        y = layers.Dense(480, activation="gelu")(layers.LayerNormalization()(x))
        x = layers.Add()([x, layers.Dropout(0.1)(layers.Dense(160)(y))])
    x = layers.GlobalAveragePooling1D()(x)
    model = keras.Model(inputs, layers.Dense(CLASSES, activation="softmax", dtype="float32")(x))
    keras.config.set_dtype_policy("float32")
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam())
    model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
    return model


class Smoothed(keras.Model):
    """A step that also punishes steep outputs."""

    def train_step(self, data: Any) -> Any:
        import tensorflow as tf  # noqa: PLC0415 - a step of TensorFlow's own

        x, y = data
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(x)
                told = self(x, training=True)
            steep = inner.gradient(told, x)
            loss = self.compute_loss(x=x, y=y, y_pred=told)
            loss = loss + 0.1 * tf.reduce_mean(tf.square(steep))
        found = outer.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(found, self.trainable_variables, strict=True))
        return {"loss": loss}


def punished() -> Any:
    """Gradients of gradients."""
    x = inputs = layers.Input((SIDE, SIDE, 3))
    for n in (24, 48, 64):
        x = layers.Conv2D(n, 3, strides=2, padding="same", activation="softplus")(x)
    x = layers.Dense(CLASSES, activation="softmax")(layers.Flatten()(x))
    model = Smoothed(inputs, x)
    model.compile("adam", "sparse_categorical_crossentropy", jit_compile=False)
    return model


def frames() -> Any:
    """A small network for each picture of a film, then an LSTM."""
    each = keras.Sequential(
        [
            layers.Input((48, 48, 3)),
            layers.Conv2D(16, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(128),
        ]
    )
    x = inputs = layers.Input((6, 48, 48, 3))
    x = layers.LSTM(256)(layers.LayerNormalization()(layers.TimeDistributed(each)(x)))
    return keras.Model(inputs, layers.Dense(CLASSES, activation="softmax")(x))


def painter() -> Any:
    """Strided convolutions down, transposed ones up, joined; leaky."""
    x = inputs = layers.Input((SIDE, SIDE, 3))
    skips = []
    for n in (32, 64, 128):
        x = layers.Conv2D(n, 4, 2, "same", use_bias=False)(x)
        x = layers.LeakyReLU(0.2)(layers.BatchNormalization()(x))
        skips.append(x)
    for n, skip in ((64, skips[1]), (32, skips[0])):
        x = layers.Conv2DTranspose(n, 4, 2, "same", use_bias=False)(x)
        x = layers.Dropout(0.3)(layers.BatchNormalization()(x))
        x = layers.Concatenate()([layers.ReLU()(x), skip])
    x = layers.Conv2DTranspose(3, 4, 2, "same", activation="tanh")(x)
    model = keras.Model(inputs, x)
    model.compile("adam", "mae", jit_compile=False)
    return model


class Rotary(layers.Layer):
    """Turns pairs of values by their place in the sequence."""

    def call(self, x: Any) -> Any:
        left, right = ops.split(x, 2, axis=-1)
        place = ops.cast(ops.arange(ops.shape(x)[1]), x.dtype)[None, :, None]
        turn = place / ops.cast(ops.arange(1, left.shape[-1] + 1), x.dtype)
        return ops.concatenate(
            [left * ops.cos(turn) - right * ops.sin(turn), left * ops.sin(turn) + right], -1
        )


def speaker() -> Any:
    """A causal language model with its own places and gated dense layers."""
    inputs = layers.Input((128,), dtype="int32")
    x = layers.Embedding(2000, 128)(inputs)
    for _ in range(2):
        y = Rotary()(layers.RMSNormalization()(x))
        y = layers.GroupQueryAttention(16, 8, 2)(y, y, use_causal_mask=True)
        x = layers.Add()([x, y])
        y = layers.RMSNormalization()(x)
        y = layers.Multiply()([layers.Dense(320, activation="silu")(y), layers.Dense(320)(y)])
        x = layers.Add()([x, layers.Dense(128)(y)])
    model = keras.Model(inputs, layers.Dense(2000)(x))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(global_clipnorm=1.0), loss, jit_compile=False)
    return model


def wide_and_deep() -> Any:
    """Tables of categories beside dense numbers."""
    numbers = layers.Input((64,))
    names = [layers.Input((4,), dtype="int32") for _ in range(3)]
    found = [layers.Flatten()(layers.Embedding(20000, 48)(each)) for each in names]
    x = layers.Concatenate()([numbers, *found])
    for n in (2048, 1024, 512):
        x = layers.Dropout(0.2)(layers.Dense(n, activation="relu")(x))
    model = keras.Model([numbers, *names], layers.Dense(1, activation="sigmoid")(x))
    model.compile("adagrad", "binary_crossentropy", jit_compile=False)
    return model


HELD_OUT: dict[str, Callable[[], Any]] = {
    made.__name__: made
    for made in (
        branches, windows, excited, words_at_once, film_of_cells, dilated, siblings, denoiser,
        half_transformer, punished, frames, painter, speaker, wide_and_deep,
    )
}  # fmt: skip
"""Inspected when nothing was to be changed any more."""
