# pyright: reportImplicitOverride=false, reportOperatorIssue=false, reportArgumentType=false, reportCallIssue=false
"""Small Keras 3 models, one for each feature that a training may use; any backend."""

from typing import Any

import keras
from keras import layers

from tests.frameworks.exactness.data import BATCH, FEATURES

BINARY = "binary_crossentropy"


class UnseededNoise(layers.Layer):
    """Draws from Keras' global seed generator, which no model owns."""

    def call(self, inputs: Any) -> Any:
        return inputs + 0.1 * keras.random.normal(keras.ops.shape(inputs))


class SeededNoise(layers.Layer):
    """Draws from its own seed generator."""

    def __init__(self) -> None:
        super().__init__()
        self.seeds = keras.random.SeedGenerator(13)

    def call(self, inputs: Any) -> Any:
        return inputs + 0.1 * keras.random.normal(keras.ops.shape(inputs), seed=self.seeds)


class Penalised(layers.Layer):
    """Adds a loss, and counts its calls in a weight that no gradient touches."""

    def build(self, input_shape: Any) -> None:
        self.calls = self.add_weight(shape=(), initializer="zeros", trainable=False)

    def call(self, inputs: Any) -> Any:
        self.calls.assign(self.calls + 1.0)
        self.add_loss(0.01 * keras.ops.mean(keras.ops.square(inputs)))
        return inputs


class Subclassed(keras.Model):
    """Is built by its first batch."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = layers.Dense(8, activation="relu")
        self.drop = layers.Dropout(0.3)
        self.out = layers.Dense(1)

    def call(self, inputs: Any, *, training: bool = False) -> Any:
        return self.out(self.drop(self.hidden(inputs), training=training))


def dense_layers(units: int = 8) -> list[Any]:
    """Weights, statistics and a seed state."""
    return [
        layers.Dense(units, activation="silu"),
        layers.BatchNormalization(),
        layers.Dropout(0.4),
        layers.Dense(1, activation="sigmoid"),
    ]


def compiled(model: Any, **settings: Any) -> Any:
    """The model, with Adam and the binary cross-entropy by default."""
    model.compile(**({"optimizer": keras.optimizers.Adam(0.01), "loss": BINARY} | settings))
    return model


def dense(**settings: Any) -> Any:
    """Dense, BatchNormalization and Dropout."""
    return compiled(keras.Sequential([keras.Input((FEATURES,)), *dense_layers()]), **settings)


def wide(**settings: Any) -> Any:
    """Some of its variables are large enough to be read into memory of TensorFlow's own."""
    return with_layer(layers.Dense(600), units=600, **settings)


def with_layer(layer: Any, *, units: int = 8, **settings: Any) -> Any:
    """The same behind a layer."""
    inputs = keras.Input((FEATURES,))
    return compiled(keras.Sequential([inputs, layer, *dense_layers(units)]), **settings)


def adamw_schedule() -> Any:
    """A schedule counts the optimizer's steps; weight decay spares some variables."""
    schedule = keras.optimizers.schedules.ExponentialDecay(0.05, 3, 0.8)
    optimizer = keras.optimizers.AdamW(schedule, weight_decay=0.01)
    optimizer.exclude_from_weight_decay(var_names=["bias"])
    return dense(optimizer=optimizer)


def sgd_cosine() -> Any:
    """Momentum slots and a schedule with restarts."""
    schedule = keras.optimizers.schedules.CosineDecayRestarts(0.1, 4)
    return dense(optimizer=keras.optimizers.SGD(schedule, momentum=0.9, nesterov=True))


def amsgrad_clipped() -> Any:
    """A third slot, and gradients clipped by their joint norm."""
    return dense(optimizer=keras.optimizers.Adam(0.02, amsgrad=True, global_clipnorm=0.5))


def ftrl_lion() -> Any:
    """Another family of optimizers."""
    return dense(optimizer=keras.optimizers.Lion(0.01, weight_decay=0.02))


def with_optimizer(name: str) -> Any:
    """An optimizer of Keras by its name, as it is made without settings."""
    return dense(optimizer=getattr(keras.optimizers, name)(learning_rate=0.01))


def multi_by_map() -> Any:
    """Each part has its own optimizer, found by the variable's path."""
    chosen = keras.optimizers.OptimizerMap(
        default_optimizer=keras.optimizers.SGD(0.05, momentum=0.9),
        optimizer_map={".*kernel": keras.optimizers.Adam(0.02, use_ema=True)},
    )
    return dense(optimizer=keras.optimizers.MultiOptimizer(chosen))


def multi_by_function() -> Any:
    """The same by a function, which makes them in the first step; with a loss scale."""
    first, second = keras.optimizers.AdamW(0.02), keras.optimizers.RMSprop(0.01)

    def choose(variable: Any) -> Any:
        return first if "kernel" in variable.path else second

    return dense(optimizer=keras.optimizers.MultiOptimizer(choose, loss_scale_factor=4.0))


MULTI_OPTIMIZERS = {"map": multi_by_map, "function": multi_by_function}


def moving_average() -> Any:
    """Averages that overwrite the weights every fourth step."""
    optimizer = keras.optimizers.Adam(use_ema=True, ema_momentum=0.8, ema_overwrite_frequency=4)
    return dense(optimizer=optimizer)


def accumulating() -> Any:
    """Gradients gathered over two steps: a reload may fall between them."""
    return dense(optimizer=keras.optimizers.Adam(0.02, gradient_accumulation_steps=2))


def in_precision(policy: str) -> Any:
    """Under another dtype policy, which stays the caller's."""
    previous = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        return dense()
    finally:
        keras.config.set_dtype_policy(previous)


def stateful_lstm() -> Any:
    """States that go from batch to batch."""
    model = keras.Sequential(
        [
            keras.Input((FEATURES,), batch_size=BATCH),
            layers.Reshape((4, 2)),
            layers.LSTM(4, stateful=True, dropout=0.2),
            layers.Dense(1),
        ]
    )
    return compiled(model, optimizer="rmsprop", loss="mse")


def embedded_gru() -> Any:
    """Sparse gradients, masks and recurrent dropout."""
    model = keras.Sequential(
        [
            keras.Input((6,), dtype="int32"),
            layers.Embedding(20, 6, mask_zero=True),
            layers.GRU(5, recurrent_dropout=0.2),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    return compiled(model, optimizer="nadam")


def two_outputs() -> Any:
    """Two losses, weighted, and a metric each."""
    inputs = keras.Input((FEATURES,))
    shared = layers.Dense(8, activation="gelu")(inputs)
    first = layers.Dense(1, name="first")(layers.Dropout(0.2)(shared))
    second = layers.Dense(1, name="second")(shared)
    return compiled(
        keras.Model(inputs, {"first": first, "second": second}),
        loss={"first": "mse", "second": "mae"},
        loss_weights={"first": 1.0, "second": 0.3},
        metrics={"first": ["mae"], "second": ["mse"]},
    )


def siamese() -> Any:
    """One layer used twice."""
    inputs = keras.Input((FEATURES,))
    twin = layers.Dense(6, activation="tanh")
    both = layers.Concatenate()([twin(inputs), twin(layers.Dropout(0.3)(inputs))])
    return compiled(keras.Model(inputs, layers.Dense(1, activation="sigmoid")(both)))


def frozen_nested() -> Any:
    """A trained part that is no longer trained, inside another model."""
    base = keras.Sequential([keras.Input((FEATURES,)), *dense_layers()[:3]], name="base")
    base.trainable = False
    inputs = keras.Input((FEATURES,))
    return compiled(
        keras.Model(inputs, layers.Dense(1, activation="sigmoid")(base(inputs, training=False)))
    )


def lora() -> Any:
    """Low-rank updates beside frozen kernels."""
    model = keras.Sequential(
        [
            keras.Input((FEATURES,)),
            layers.Dense(12, activation="relu"),
            layers.Dropout(0.3),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    for layer in (model.layers[0], model.layers[2]):
        layer.enable_lora(2)
    return compiled(model)


def images() -> Any:
    """Convolutions behind random augmentation."""
    model = keras.Sequential(
        [
            keras.Input((FEATURES, FEATURES, 1)),
            layers.RandomFlip("horizontal"),
            layers.RandomTranslation(0.1, 0.1),
            layers.Conv2D(4, 3, activation="relu"),
            layers.SpatialDropout2D(0.2),
            layers.GlobalAveragePooling2D(),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    return compiled(model)


def attention() -> Any:
    """Attention, layer norms and a spectral norm, which keeps its own vector."""
    inputs = keras.Input((4, 2))
    attended = layers.MultiHeadAttention(2, 4, dropout=0.2)(inputs, inputs)
    normed = layers.LayerNormalization()(layers.Add()([inputs, attended]))
    head = layers.SpectralNormalization(layers.Dense(1, activation="sigmoid"))
    return compiled(keras.Model(inputs, head(layers.Flatten()(normed))))


def constrained() -> Any:
    """Regularisers and constraints."""
    model = keras.Sequential(
        [
            keras.Input((FEATURES,)),
            layers.Dense(
                8,
                activation="relu",
                kernel_regularizer="l2",
                kernel_constraint=keras.constraints.MaxNorm(0.8),
            ),
            layers.GaussianNoise(0.1),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    return compiled(model)


def subclassed() -> Any:
    """Not built before the first step."""
    return compiled(Subclassed(), loss="mse")
