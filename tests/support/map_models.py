# pyright: reportArgumentType=false
"""Models whose peak memory is predicted and measured: those of the field, and awkward ones."""

from collections.abc import Callable
from typing import Any

import keras
from keras import layers

SIDE = 64
"""Height and width of pictures: small, so that a step takes little time on a CPU."""


def small_cnn() -> Any:
    """Three blocks of convolution and pooling."""
    return keras.Sequential(
        [
            layers.Input((SIDE, SIDE, 3)),
            *(
                part
                for n in (32, 64, 128)
                for part in (
                    layers.Conv2D(n, 3, activation="relu", padding="same"),
                    layers.MaxPooling2D(),
                )
            ),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
            layers.Dense(10, activation="softmax"),
        ]
    )


def mlp() -> Any:
    """Dense layers alone, more weights than feature maps."""
    return keras.Sequential(
        [
            layers.Input((784,)),
            layers.Dense(2048, activation="relu"),
            layers.Dropout(0.3),
            layers.Dense(2048, activation="relu"),
            layers.Dense(10, activation="softmax"),
        ]
    )


def autoencoder() -> Any:
    """Convolutions down and transposed convolutions up."""
    x = inputs = layers.Input((SIDE, SIDE, 1))
    for n in (16, 32, 64):
        x = layers.Conv2D(n, 3, strides=2, activation="relu", padding="same")(x)
    for n in (64, 32, 16):
        x = layers.Conv2DTranspose(n, 3, strides=2, activation="relu", padding="same")(x)
    return keras.Model(inputs, layers.Conv2D(1, 3, activation="sigmoid", padding="same")(x))


def _twice(x: Any, n: int) -> Any:
    for _ in range(2):
        x = layers.Conv2D(n, 3, padding="same")(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    return x


def u_net() -> Any:
    """Down, up, and joined by concatenation."""
    x = inputs = layers.Input((SIDE, SIDE, 3))
    skips = []
    for n in (16, 32, 64):
        x = _twice(x, n)
        skips.append((n, x))
        x = layers.MaxPooling2D()(x)
    x = _twice(x, 128)
    for n, skip in reversed(skips):
        x = layers.Conv2DTranspose(n, 2, strides=2, padding="same")(x)
        x = _twice(layers.Concatenate()([x, skip]), n)
    return keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid")(x))


def transformer() -> Any:
    """Two encoder blocks over 128 tokens."""
    inputs = layers.Input((128,), dtype="int32")
    x = layers.Embedding(5000, 128)(inputs)
    for _ in range(2):
        attended = layers.MultiHeadAttention(4, 32, dropout=0.1)(x, x)
        x = layers.LayerNormalization()(layers.Add()([x, attended]))
        wide = layers.Dense(128)(layers.Dense(512, activation="gelu")(x))
        x = layers.LayerNormalization()(layers.Add()([x, layers.Dropout(0.1)(wide)]))
    x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(inputs, layers.Dense(10, activation="softmax")(x))


def _recurrent(cell: Any) -> Any:
    return keras.Sequential(
        [
            layers.Input((100, 32)),
            cell(128, return_sequences=True),
            cell(128),
            layers.Dense(10, activation="softmax"),
        ]
    )


def lstm() -> Any:
    """Two LSTM layers over 100 steps."""
    return _recurrent(layers.LSTM)


def gru() -> Any:
    """Two GRU layers over 100 steps."""
    return _recurrent(layers.GRU)


def resnet50() -> Any:
    """ResNet50 of Keras."""
    return keras.applications.ResNet50(weights=None, input_shape=(SIDE, SIDE, 3), classes=10)


def vgg16() -> Any:
    """VGG16 of Keras with its classifier on small pictures."""
    return keras.applications.VGG16(weights=None, input_shape=(SIDE, SIDE, 3), classes=10)


def mobilenet_v2() -> Any:
    """MobileNetV2 of Keras."""
    return keras.applications.MobileNetV2(weights=None, input_shape=(SIDE, SIDE, 3), classes=10)


def efficientnet_b0() -> Any:
    """EfficientNetB0 of Keras."""
    return keras.applications.EfficientNetB0(weights=None, input_shape=(SIDE, SIDE, 3), classes=10)


def densenet121() -> Any:
    """DenseNet121 of Keras."""
    return keras.applications.DenseNet121(weights=None, input_shape=(SIDE, SIDE, 3), classes=10)


def two_towers() -> Any:
    """One nested encoder, called twice: its weights count once, its feature maps twice."""
    encoder = keras.Sequential(
        [
            layers.Input((SIDE, SIDE, 3)),
            layers.SeparableConv2D(64, 3, padding="same", activation="relu"),
            layers.BatchNormalization(),
            layers.SeparableConv2D(64, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, activation="relu"),
            layers.GlobalAveragePooling2D(),
        ]
    )
    left, right = layers.Input((SIDE, SIDE, 3)), layers.Input((SIDE, SIDE, 3))
    joined = layers.Concatenate()([encoder(left), encoder(right)])
    return keras.Model([left, right], layers.Dense(10, activation="softmax")(joined))


def frozen_backbone() -> Any:
    """A frozen network below a head that trains."""
    below = keras.applications.MobileNetV2(
        weights=None, input_shape=(SIDE, SIDE, 3), include_top=False, pooling="avg"
    )
    below.trainable = False
    inputs = layers.Input((SIDE, SIDE, 3))
    x = layers.Dense(256, activation="relu")(below(inputs))
    return keras.Model(inputs, layers.Dense(10, activation="softmax")(x))


def gated() -> Any:
    """Many small elementwise operations: gates, scales and residuals."""
    x = inputs = layers.Input((SIDE, SIDE, 3))
    x = layers.Conv2D(48, 3, padding="same")(x)
    for _ in range(4):
        y = layers.DepthwiseConv2D(5, padding="same")(x)
        y = layers.LayerNormalization()(y)
        y = layers.Conv2D(96, 1, activation="silu")(y)
        gate = layers.Dense(96, activation="sigmoid")(
            layers.GlobalAveragePooling2D(keepdims=True)(y)
        )
        x = x + layers.Conv2D(48, 1)(layers.Multiply()([y, gate]))
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(10, activation="softmax")(x))


def convolutions_of_text() -> Any:
    """One-dimensional convolutions over embedded tokens, two-way recurrence on top."""
    inputs = layers.Input((200,), dtype="int32")
    x = layers.SpatialDropout1D(0.2)(layers.Embedding(20000, 64)(inputs))
    x = layers.Conv1D(128, 5, activation="relu")(x)
    x = layers.MaxPooling1D(4)(x)
    x = layers.Bidirectional(layers.GRU(32))(x)
    return keras.Model(inputs, layers.Dense(10, activation="softmax")(x))


def wide_output() -> Any:
    """A language model: its scores over all words are larger than the rest."""
    inputs = layers.Input((64,), dtype="int32")
    x = layers.Embedding(8000, 128)(inputs)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 32)(x, x))
    return keras.Model(inputs, layers.Dense(8000, activation="softmax")(x))


def conv_next() -> Any:
    """Wide depthwise convolutions, layer normalization and gelu, with residuals."""
    x = inputs = layers.Input((SIDE, SIDE, 3))
    x = layers.LayerNormalization()(layers.Conv2D(64, 4, strides=4)(x))
    for _ in range(3):
        y = layers.LayerNormalization()(layers.DepthwiseConv2D(7, padding="same")(x))
        y = layers.Dense(64)(layers.Dense(256, activation="gelu")(y))
        x = layers.Add()([x, y])
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(10, activation="softmax")(x))


def film() -> Any:
    """Three-dimensional convolutions."""
    return keras.Sequential(
        [
            layers.Input((16, 32, 32, 1)),
            layers.Conv3D(16, 3, activation="relu", padding="same"),
            layers.MaxPooling3D(),
            layers.Conv3D(32, 3, activation="elu", padding="same"),
            layers.GlobalMaxPooling3D(),
            layers.Dense(10, activation="softmax"),
        ]
    )


def squeezed() -> Any:
    """Narrow and wide convolutions side by side, joined."""
    x = inputs = layers.Input((SIDE, SIDE, 3))
    x = layers.Conv2D(64, 3, strides=2, activation="relu")(x)
    for n in (16, 32):
        squeeze = layers.Conv2D(n, 1, activation="relu")(x)
        left = layers.Conv2D(4 * n, 1, activation="relu")(squeeze)
        right = layers.Conv2D(4 * n, 3, padding="same", activation="relu")(squeeze)
        x = layers.AveragePooling2D(2)(layers.Concatenate()([left, right]))
    x = layers.GlobalAveragePooling2D()(layers.LeakyReLU()(x))
    return keras.Model(inputs, layers.Dense(10, activation="softmax")(x))


def mixer() -> Any:
    """Dense layers over channels and, turned around, over places."""
    x = inputs = layers.Input((SIDE, SIDE, 3))
    x = layers.Reshape((256, 96))(layers.Conv2D(96, 4, strides=4)(x))
    for _ in range(3):
        y = layers.Permute((2, 1))(layers.LayerNormalization()(x))
        y = layers.Dense(256)(layers.Dense(128, activation="gelu")(y))
        x = layers.Add()([x, layers.Permute((2, 1))(y)])
        y = layers.Dense(96)(layers.Dense(384, activation="gelu")(layers.LayerNormalization()(x)))
        x = layers.Add()([x, y])
    x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(inputs, layers.Dense(10, activation="softmax")(x))


def two_heads() -> Any:
    """A trunk of group normalization and swish whose end is both pooled ways."""
    x = inputs = layers.Input((SIDE, SIDE, 3))
    for n in (32, 64, 96):
        x = layers.Conv2D(n, 3, padding="same")(x)
        x = layers.Activation("swish")(layers.GroupNormalization(8)(x))
        x = layers.MaxPooling2D()(layers.SpatialDropout2D(0.1)(x))
    both = [layers.GlobalAveragePooling2D()(x), layers.GlobalMaxPooling2D()(x)]
    x = layers.Dense(64, activation="tanh")(layers.Concatenate()(both))
    return keras.Model(inputs, layers.Dense(10, activation="softmax")(x))


def vision_transformer() -> Any:
    """Patches, attention over them, and frozen patches' weights."""
    x = inputs = layers.Input((SIDE, SIDE, 3))
    x = layers.Conv2D(96, 8, strides=8, trainable=False)(x)
    x = layers.Reshape((64, 96))(x)
    for _ in range(3):
        y = layers.LayerNormalization()(x)
        x = layers.Add()([x, layers.MultiHeadAttention(6, 16)(y, y)])
        y = layers.Dense(384, activation="gelu")(layers.LayerNormalization()(x))
        x = layers.Add()([x, layers.Dropout(0.2)(layers.Dense(96)(y))])
    x = layers.Flatten()(x)
    return keras.Model(inputs, layers.Dense(10, activation="softmax")(x))


KNOWN: dict[str, Callable[[], Any]] = {
    made.__name__: made
    for made in (
        small_cnn,
        mlp,
        autoencoder,
        u_net,
        transformer,
        lstm,
        gru,
        resnet50,
        vgg16,
        mobilenet_v2,
        efficientnet_b0,
        densenet121,
    )
}
"""The twelve that the rules were made with."""

AWKWARD: dict[str, Callable[[], Any]] = {
    made.__name__: made
    for made in (two_towers, frozen_backbone, gated, convolutions_of_text, wide_output)
}
"""Shapes of models that rules by layer are known to be poor at."""

UNSEEN: dict[str, Callable[[], Any]] = {
    made.__name__: made
    for made in (conv_next, film, squeezed, mixer, two_heads, vision_transformer)
}
"""Measured once the rules stood."""
