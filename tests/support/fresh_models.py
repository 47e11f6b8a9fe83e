# pyright: basic, reportArgumentType=false, reportOptionalOperand=false, reportOperatorIssue=false
# pyright: reportOptionalSubscript=false, reportGeneralTypeIssues=false, reportCallIssue=false
# pyright: reportIncompatibleMethodOverride=false, reportImplicitOverride=false
"""Models of other kinds, written and measured once static batches were simulated."""

from collections.abc import Callable
from typing import Any

import keras
from keras import layers, ops

SIDE = 64
CLASSES = 10


def generator() -> Any:
    """Noise to pictures by transposed convolutions."""
    x = inputs = layers.Input((100,))
    x = layers.Dense(8 * 8 * 128, use_bias=False)(x)
    x = layers.LeakyReLU()(layers.BatchNormalization()(x))
    x = layers.Reshape((8, 8, 128))(x)
    for n in (96, 64, 32):
        x = layers.Conv2DTranspose(n, 5, strides=2, padding="same", use_bias=False)(x)
        x = layers.LeakyReLU()(layers.BatchNormalization()(x))
    model = keras.Model(inputs, layers.Conv2D(3, 5, padding="same", activation="tanh")(x))
    model.compile(keras.optimizers.Adam(2e-4, beta_1=0.5), "mse", jit_compile=False)
    return model


def small_mobile() -> Any:
    """Depthwise and pointwise convolutions with scaled channels and hard swish."""
    x = inputs = layers.Input((80, 80, 3))
    x = layers.Conv2D(16, 3, strides=2, padding="same", activation="hard_swish")(x)
    for n, strides in ((24, 2), (40, 1), (40, 2), (64, 1)):
        y = layers.Conv2D(4 * n, 1, use_bias=False)(x)
        y = layers.Activation("hard_swish")(layers.BatchNormalization()(y))
        y = layers.DepthwiseConv2D(5, strides=strides, padding="same", use_bias=False)(y)
        y = layers.Activation("hard_swish")(layers.BatchNormalization()(y))
        s = layers.GlobalAveragePooling2D(keepdims=True)(y)
        s = layers.Dense(4 * n, activation="hard_sigmoid")(layers.Dense(n, activation="relu")(s))
        y = layers.BatchNormalization()(layers.Conv2D(n, 1, use_bias=False)(y * s))
        x = layers.Add()([x, y]) if x.shape[1:] == y.shape[1:] else y
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(CLASSES, activation="softmax")(x))


def masked_reader() -> Any:
    """Attention that leaves padding out, sums over what is left."""
    inputs = layers.Input((100,), dtype="int32")
    x = layers.Embedding(8000, 96, mask_zero=True)(inputs)
    for _ in range(3):
        y = layers.MultiHeadAttention(6, 16, dropout=0.2)(x, x)
        x = layers.LayerNormalization()(layers.Add()([x, y]))
        y = layers.Dense(96)(layers.Dense(384, activation="relu")(x))
        x = layers.LayerNormalization()(layers.Add()([x, layers.Dropout(0.2)(y)]))
    x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(inputs, layers.Dense(CLASSES, activation="softmax")(x))


def temporal() -> Any:
    """Residual causal convolutions over time whose reach doubles."""
    x = inputs = layers.Input((600, 12))
    for rate in (1, 2, 4, 8, 16):
        y = x
        for _ in range(2):
            y = layers.Conv1D(64, 3, padding="causal", dilation_rate=rate, activation="relu")(y)
            y = layers.SpatialDropout1D(0.1)(layers.LayerNormalization()(y))
        x = layers.Activation("relu")(layers.Add()([layers.Conv1D(64, 1)(x), y]))
    model = keras.Model(inputs, layers.Dense(1)(x[:, -1, :]))
    model.compile("adam", "huber", jit_compile=False)
    return model


def volumes() -> Any:
    """Three-dimensional convolutions down and up, joined."""
    x = inputs = layers.Input((16, 32, 32, 1))
    skips = []
    for n in (8, 16):
        x = layers.Conv3D(n, 3, padding="same", activation="relu")(x)
        x = layers.Conv3D(n, 3, padding="same", activation="relu")(x)
        skips.append((n, x))
        x = layers.MaxPooling3D()(x)
    x = layers.Conv3D(32, 3, padding="same", activation="relu")(x)
    for n, skip in reversed(skips):
        x = layers.Conv3DTranspose(n, 2, strides=2, padding="same")(x)
        x = layers.Concatenate()([x, skip])
        x = layers.BatchNormalization()(layers.Conv3D(n, 3, padding="same", activation="relu")(x))
    model = keras.Model(inputs, layers.Conv3D(1, 1, activation="sigmoid")(x))
    model.compile("adam", "binary_crossentropy", jit_compile=False)
    return model


def both_ways() -> Any:
    """Two GRUs in both directions with dense layers for each step."""
    x = inputs = layers.Input((40, 128))
    x = layers.Bidirectional(layers.GRU(256, return_sequences=True))(x)
    x = layers.Dropout(0.2)(layers.BatchNormalization()(x))
    x = layers.Bidirectional(layers.GRU(256))(x)
    return keras.Model(inputs, layers.Dense(CLASSES, activation="softmax")(x))


def many_words() -> Any:
    """A table of very many words, pooled, below dense layers."""
    inputs = layers.Input((150,), dtype="int32")
    x = layers.GlobalAveragePooling1D()(layers.Embedding(150_000, 48)(inputs))
    x = layers.Dense(256, activation="relu")(x)
    model = keras.Model(inputs, layers.Dense(2000, activation="softmax")(x))
    model.compile("adam", "sparse_categorical_crossentropy", jit_compile=False)
    return model


def several_ends() -> Any:
    """Three inputs and three outputs with their own losses and weights."""
    text = layers.Input((64,), dtype="int32")
    picture, numbers = layers.Input((48, 48, 3)), layers.Input((30,))
    t = layers.Conv1D(64, 3, padding="same", activation="relu")(layers.Embedding(5000, 64)(text))
    t = layers.GlobalMaxPooling1D()(t)
    p = picture
    for n in (32, 64):
        p = layers.MaxPooling2D()(layers.Conv2D(n, 3, padding="same", activation="gelu")(p))
    shared = layers.Concatenate()([t, layers.Flatten()(p), layers.Dense(64)(numbers)])
    shared = layers.Dropout(0.3)(layers.Dense(512, activation="relu")(shared))
    map_back = layers.Dense(24 * 24 * 8, activation="relu")(shared)
    map_back = layers.Conv2DTranspose(3, 3, strides=2, padding="same")(
        layers.Reshape((24, 24, 8))(map_back)
    )
    model = keras.Model(
        [text, picture, numbers],
        [layers.Dense(20, activation="softmax")(shared), layers.Dense(1)(shared), map_back],
    )
    losses = ["sparse_categorical_crossentropy", "mae", "mse"]
    model.compile("rmsprop", losses, loss_weights=[1.0, 0.5, 0.1], jit_compile=False)
    return model


class Contrasted(keras.Model):
    """Its own step: two views of a picture become alike, others not."""

    def train_step(self, data: Any) -> Any:
        import tensorflow as tf  # noqa: PLC0415 - a step of TensorFlow's own

        x, _ = data
        with tf.GradientTape() as tape:
            noisy = x + 0.1 * tf.random.normal(tf.shape(x))
            one = tf.math.l2_normalize(self(noisy, training=True), -1)
            two = tf.math.l2_normalize(self(tf.image.flip_left_right(x), training=True), -1)
            scores = tf.matmul(one, two, transpose_b=True) / 0.1
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                tf.range(tf.shape(scores)[0]), scores))  # fmt: skip
        found = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(found, self.trainable_variables, strict=True))
        return {"loss": loss}


def contrasted() -> Any:
    """Two views through one encoder in its own step."""
    x = inputs = layers.Input((SIDE, SIDE, 3))
    for n in (32, 64, 128):
        x = layers.Conv2D(n, 3, strides=2, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.Dense(64)(layers.Dense(256, activation="relu")(layers.GlobalMaxPooling2D()(x)))
    model = Contrasted(inputs, x)
    model.compile("adamw", "mse", jit_compile=False)
    return model


def computed_again() -> Any:
    """Blocks whose values are computed again for the backward pass."""
    x = inputs = layers.Input((SIDE, SIDE, 3))
    x = layers.Conv2D(32, 3, padding="same")(x)
    with keras.RematScope(mode="full"):
        for _ in range(4):
            y = layers.Conv2D(32, 3, padding="same", activation="relu")(x)
            x = layers.Add()([x, layers.Conv2D(32, 3, padding="same")(y)])
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(CLASSES, activation="softmax")(x))


def own_loss() -> Any:
    """Pictures to pictures with a loss of several parts, and one added by a layer."""

    def several(real: Any, told: Any) -> Any:
        steep = ops.abs(told[:, 1:] - told[:, :-1] - real[:, 1:] + real[:, :-1])
        near = ops.mean(ops.abs(real - told), axis=(1, 2, 3))
        return near + 0.5 * ops.mean(steep, axis=(1, 2, 3)) + 0.1 * ops.mean(
            ops.square(real - told), axis=(1, 2, 3))  # fmt: skip

    x = inputs = layers.Input((SIDE, SIDE, 3))
    for n in (32, 64):
        x = layers.Conv2D(n, 3, strides=2, padding="same")(x)
        x = layers.PReLU(shared_axes=(1, 2))(x)
    x = layers.ActivityRegularization(l2=1e-4)(x)
    for n in (64, 32):
        x = layers.UpSampling2D()(x)
        x = layers.PReLU(shared_axes=(1, 2))(layers.Conv2D(n, 3, padding="same")(x))
    model = keras.Model(inputs, layers.Conv2D(3, 3, padding="same")(x))
    model.compile("nadam", several, jit_compile=False)
    return model


class Passed(layers.Layer):
    """Messages along the edges of a graph that is learned."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def build(self, shape: Any) -> None:
        self.edges = self.add_weight((shape[1], shape[1]), name="edges")
        self.w = self.add_weight((shape[-1], self.width), name="w")

    def call(self, x: Any) -> Any:
        edges = ops.softmax(self.edges, axis=-1)
        return ops.relu(ops.einsum("ij,bjd->bid", edges, ops.matmul(x, self.w)))


def nodes() -> Any:
    """Messages between the nodes of a graph."""
    x = inputs = layers.Input((207, 16))
    for _ in range(3):
        x = layers.Concatenate()([x, Passed(64)(x)])
    x = layers.Dropout(0.2)(layers.Dense(64, activation="elu")(x))
    model = keras.Model(inputs, layers.Dense(12)(x))
    model.compile("adam", "mae", jit_compile=False)
    return model


def before_activation() -> Any:
    """Residual blocks that normalize first; momentum, decay and moving averages of weights."""
    x = inputs = layers.Input((SIDE, SIDE, 3))
    x = layers.Conv2D(24, 3, padding="same", use_bias=False)(x)
    for n, strides in ((48, 1), (48, 1), (96, 2), (96, 1)):
        y = layers.ReLU()(layers.BatchNormalization()(x))
        short = layers.Conv2D(n, 1, strides=strides, use_bias=False)(y)
        y = layers.Conv2D(n, 3, strides=strides, padding="same", use_bias=False)(y)
        y = layers.ReLU()(layers.BatchNormalization()(y))
        x = layers.Add()([short, layers.Conv2D(n, 3, padding="same", use_bias=False)(y)])
    x = layers.GlobalAveragePooling2D()(layers.ReLU()(layers.BatchNormalization()(x)))
    model = keras.Model(inputs, layers.Dense(CLASSES)(x))
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9, weight_decay=5e-4, use_ema=True)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss, jit_compile=False)
    return model


def weather() -> Any:
    """Two convolutional LSTMs, the last picture of the film predicted."""
    x = inputs = layers.Input((6, 40, 40, 4))
    x = layers.ConvLSTM2D(16, 3, padding="same", return_sequences=True)(x)
    x = layers.ConvLSTM2D(16, 5, padding="same")(x)
    model = keras.Model(inputs, layers.Conv2D(1, 1)(x))
    model.compile("adam", "mse", jit_compile=False)
    return model


FRESH: dict[str, Callable[[], Any]] = {
    made.__name__: made
    for made in (
        generator, small_mobile, masked_reader, temporal, volumes, both_ways, many_words,
        several_ends, contrasted, computed_again, own_loss, nodes, before_activation, weather,
    )
}  # fmt: skip
"""Models of kinds that no other group has."""
