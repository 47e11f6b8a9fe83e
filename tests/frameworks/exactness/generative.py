# pyright: reportImplicitOverride=false, reportArgumentType=false, reportCallIssue=false
# pyright: reportIncompatibleMethodOverride=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false
"""Models as the examples of keras.io write them: a `train_step` of parts, no model around them.

The outer model is never called, so Keras never builds it. Its state is in its parts, in optimizers
and metrics that are attributes, in seed generators, and in copies of weights.
"""

from typing import Any

import keras
import tensorflow as tf
from keras import layers, ops

from tests.frameworks.exactness import data
from tests.frameworks.exactness.data import FEATURES, Data
from tests.support.exactness import Scenario

LATENT = 4
CLASSES = 2


def real_only() -> Data:
    """Samples without targets."""
    found = data.arrays()
    return {"x": found["x"], "batch_size": found["batch_size"]}


def two_views() -> Data:
    """Two views of the same samples."""
    found = data.arrays()
    return {"x": found["x"], "y": found["x"][:, ::-1].copy(), "batch_size": found["batch_size"]}


def generator(inputs: int = LATENT) -> Any:
    """Noise to samples; with statistics of its batches."""
    return keras.Sequential(
        [
            keras.Input((inputs,)),
            layers.Dense(8, activation="silu"),
            layers.BatchNormalization(),
            layers.Dense(FEATURES),
        ],
        name="generator",
    )


def critic(inputs: int = FEATURES) -> Any:
    """Samples to one number; with Dropout."""
    return keras.Sequential(
        [
            keras.Input((inputs,)),
            layers.Dense(8),
            layers.LeakyReLU(),
            layers.Dropout(0.3),
            layers.Dense(1),
        ],
        name="critic",
    )


def descend(optimizer: Any, tape: Any, loss: Any, weights: Any) -> None:
    """One step of an optimizer."""
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))


class Gan(keras.Model):
    """After keras.io's DCGAN: two optimizers, two metrics and a seed generator."""

    def __init__(self, classes: int = 0) -> None:
        super().__init__()
        self.discriminator = critic(FEATURES + classes)
        self.generator = generator(LATENT + classes)
        self.seeds = keras.random.SeedGenerator(1337)
        self.d_loss_metric = keras.metrics.Mean(name="d_loss")
        self.g_loss_metric = keras.metrics.Mean(name="g_loss")

    def compile(self, d_optimizer: Any, g_optimizer: Any) -> None:
        super().compile()
        self.d_optimizer = d_optimizer
        self.g_optimizer = g_optimizer
        self.loss_fn = keras.losses.BinaryCrossentropy(from_logits=True)

    @property
    def metrics(self) -> list[Any]:
        return [self.d_loss_metric, self.g_loss_metric]

    def noise(self, like: Any) -> Any:
        return keras.random.normal((tf.shape(like)[0], LATENT), seed=self.seeds)

    def train_step(self, real: Any) -> dict[str, Any]:
        ones = tf.ones((tf.shape(real)[0], 1))
        labels = tf.concat([ones, 0 * ones], axis=0)
        labels += 0.05 * keras.random.uniform(tf.shape(labels), seed=self.seeds)
        both = tf.concat([self.generator(self.noise(real)), real], axis=0)
        with tf.GradientTape() as tape:
            d_loss = self.loss_fn(labels, self.discriminator(both, training=True))
        descend(self.d_optimizer, tape, d_loss, self.discriminator.trainable_weights)
        with tf.GradientTape() as tape:
            fake = self.generator(self.noise(real), training=True)
            g_loss = self.loss_fn(0 * ones, self.discriminator(fake, training=True))
        descend(self.g_optimizer, tape, g_loss, self.generator.trainable_weights)
        self.d_loss_metric.update_state(d_loss)
        self.g_loss_metric.update_state(g_loss)
        return {each.name: each.result() for each in self.metrics}


class PairedGan(Gan):
    """Its optimizers in a tuple, which TensorFlow wraps in a class that is no tuple."""

    def compile(self, d_optimizer: Any, g_optimizer: Any) -> None:
        keras.Model.compile(self)
        self.pair = (d_optimizer, g_optimizer)
        self.loss_fn = keras.losses.BinaryCrossentropy(from_logits=True)

    @property
    def d_optimizer(self) -> Any:
        return self.pair[0]

    @property
    def g_optimizer(self) -> Any:
        return self.pair[1]


class WassersteinGan(Gan):
    """After keras.io's WGAN-GP: several steps of the critic, and a penalty on its gradient."""

    def train_step(self, real: Any) -> dict[str, Any]:
        d_loss = 0.0
        for _ in range(2):
            with tf.GradientTape() as tape:
                fake = self.generator(self.noise(real), training=True)
                cost = tf.reduce_mean(self.discriminator(fake, training=True)) - tf.reduce_mean(
                    self.discriminator(real, training=True)
                )
                d_loss = cost + 10.0 * self.penalty(real, fake)
            descend(self.d_optimizer, tape, d_loss, self.discriminator.trainable_variables)
        with tf.GradientTape() as tape:
            fake = self.generator(self.noise(real), training=True)
            g_loss = -tf.reduce_mean(self.discriminator(fake, training=True))
        descend(self.g_optimizer, tape, g_loss, self.generator.trainable_variables)
        return {"d_loss": d_loss, "g_loss": g_loss}

    def penalty(self, real: Any, fake: Any) -> Any:
        alpha = keras.random.normal((tf.shape(real)[0], 1), seed=self.seeds)
        between = real + alpha * (fake - real)
        with tf.GradientTape() as tape:
            tape.watch(between)
            found = self.discriminator(between, training=True)
        norm = tf.sqrt(tf.reduce_sum(tf.square(tape.gradient(found, between)), axis=1) + 1e-12)
        return tf.reduce_mean((norm - 1.0) ** 2)


class ConditionalGan(Gan):
    """After keras.io's conditional GAN: labels go into both parts."""

    def __init__(self) -> None:
        super().__init__(CLASSES)

    def train_step(self, data: Any) -> dict[str, Any]:
        real, classes = data
        hot = ops.one_hot(ops.cast(classes[:, 0], "int32"), CLASSES)
        ones = tf.ones((tf.shape(real)[0], 1))
        with tf.GradientTape() as d_tape, tf.GradientTape() as g_tape:
            fake = self.generator(tf.concat([self.noise(real), hot], -1), training=True)
            of_fake = self.discriminator(tf.concat([fake, hot], -1), training=True)
            of_real = self.discriminator(tf.concat([real, hot], -1), training=True)
            labels = tf.concat([ones, 0 * ones], axis=0)
            d_loss = self.loss_fn(labels, tf.concat([of_real, of_fake], axis=0))
            g_loss = self.loss_fn(ones, of_fake)
        descend(self.d_optimizer, d_tape, d_loss, self.discriminator.trainable_weights)
        descend(self.g_optimizer, g_tape, g_loss, self.generator.trainable_weights)
        self.d_loss_metric.update_state(d_loss)
        self.g_loss_metric.update_state(g_loss)
        return {each.name: each.result() for each in self.metrics}


class Vae(keras.Model):
    """After keras.io's VAE: a sampling layer, two trackers, and the optimizer of `compile`."""

    def __init__(self) -> None:
        super().__init__()
        inputs = keras.Input((FEATURES,))
        hidden = layers.Dense(8, activation="relu")(inputs)
        self.encoder = keras.Model(inputs, [layers.Dense(2)(hidden), layers.Dense(2)(hidden)])
        self.decoder = self.make_decoder()
        self.seeds = keras.random.SeedGenerator(3)
        # Not their sum: TensorFlow adds three numbers in another order from trace to trace.
        self.trackers = [keras.metrics.Mean(name=name) for name in ("rebuilt", "kl")]

    def make_decoder(self) -> Any:
        return keras.Sequential([keras.Input((2,)), layers.Dense(FEATURES)])

    @property
    def metrics(self) -> list[Any]:
        return list(self.trackers)

    def train_step(self, data: Any) -> dict[str, Any]:
        with tf.GradientTape() as tape:
            mean, spread = self.encoder(data)
            drawn = mean + tf.exp(0.5 * spread) * keras.random.normal(
                tf.shape(mean), seed=self.seeds
            )
            rebuilt = tf.reduce_mean(tf.square(data - self.decoder(drawn)))
            kl = -0.5 * tf.reduce_mean(1 + spread - tf.square(mean) - tf.exp(spread))
            total = rebuilt + kl
        descend(self.optimizer, tape, total, self.trainable_weights)
        for tracker, value in zip(self.trackers, (rebuilt, kl), strict=True):
            tracker.update_state(value)
        return {each.name: each.result() for each in self.trackers}


class Diffusion(keras.Model):
    """After keras.io's DDIM: an adapted normalizer, and a network of averaged weights."""

    def __init__(self) -> None:
        super().__init__()
        self.normalizer = layers.Normalization()
        self.normalizer.adapt(data.arrays()["x"])
        self.network = generator(FEATURES)
        self.ema_network = keras.models.clone_model(self.network)
        self.ema_network.set_weights(self.network.get_weights())

    def compile(self, **settings: Any) -> None:
        super().compile(**settings)
        self.loss_fn = keras.losses.MeanAbsoluteError()
        self.noise_loss_tracker = keras.metrics.Mean(name="n_loss")

    @property
    def metrics(self) -> list[Any]:
        return [self.noise_loss_tracker]

    def train_step(self, images: Any) -> dict[str, Any]:
        images = self.normalizer(images, training=True)
        noises = keras.random.normal(tf.shape(images))
        rate = keras.random.uniform((tf.shape(images)[0], 1))
        with tf.GradientTape() as tape:
            loss = self.loss_fn(noises, self.network(images + rate * noises, training=True))
        descend(self.optimizer, tape, loss, self.network.trainable_weights)
        self.noise_loss_tracker.update_state(loss)
        pairs = zip(self.network.weights, self.ema_network.weights, strict=True)
        for weight, average in pairs:
            average.assign(0.9 * average + 0.1 * weight)
        return {each.name: each.result() for each in self.metrics}


class Distiller(keras.Model):
    """After keras.io's distillation: a frozen teacher, a student, losses as attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.teacher = critic()
        self.teacher.trainable = False
        self.student = critic()

    def compile(self, **settings: Any) -> None:
        super().compile(metrics=["mae"], loss="mse", **settings)
        self.distillation_loss_fn = keras.losses.KLDivergence()

    def compute_loss(
        self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None, training: Any = None
    ) -> Any:
        taught = tf.nn.sigmoid(self.teacher(x, training=False))
        learned = tf.nn.sigmoid(y_pred)
        found = super().compute_loss(x, y, y_pred, sample_weight, training)
        return found + self.distillation_loss_fn(taught, learned)

    def call(self, x: Any, *, training: bool = False) -> Any:
        return self.student(x, training=training)


class Contrastive(keras.Model):
    """After keras.io's SimCLR and MoCo: parts in a dict, two optimizers, a queue of features."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = {"encoder": generator(FEATURES), "probe": critic()}
        self.queue = keras.Variable(tf.ones((16, FEATURES)), trainable=False)
        self.temperature = tf.Variable(0.5)
        self.rounds = tf.Variable(0, trainable=False)
        self.accuracies = [keras.metrics.Mean(name="contrast"), keras.metrics.Mean(name="probe")]

    def compile(self, contrastive_optimizer: Any, probe_optimizer: Any) -> None:
        super().compile()
        self.optimizers = {"contrast": contrastive_optimizer, "probe": probe_optimizer}

    @property
    def metrics(self) -> list[Any]:
        return self.accuracies

    def train_step(self, data: Any) -> dict[str, Any]:
        one, other = data
        encoder, probe = self.parts["encoder"], self.parts["probe"]
        with tf.GradientTape() as tape:
            left, right = (tf.nn.l2_normalize(encoder(each, training=True), 1) for each in data)
            alike = tf.reduce_sum(left * right, axis=1, keepdims=True)
            others = tf.matmul(left, self.queue, transpose_b=True)
            scores = tf.concat([alike, others], 1) / self.temperature
            loss = -tf.reduce_mean(tf.nn.log_softmax(scores)[:, 0])
        weights = [*encoder.trainable_weights]
        descend(self.optimizers["contrast"], tape, loss, weights)
        self.queue.assign(tf.concat([left, self.queue], 0)[:16])
        self.rounds.assign_add(1)
        self.temperature.assign(0.99 * self.temperature)
        with tf.GradientTape() as tape:
            found = tf.reduce_mean(tf.square(probe(encoder(one), training=True) - other[:, :1]))
        descend(self.optimizers["probe"], tape, found, probe.trainable_weights)
        for metric, value in zip(self.accuracies, (loss, found), strict=True):
            metric.update_state(value)
        return {each.name: each.result() for each in self.accuracies}


class Averages:
    """Averages of a model's weights, in an object that Keras knows nothing of."""

    def __init__(self, weights: list[Any]) -> None:
        self.weights = weights
        self.shadows = [keras.Variable(each) for each in weights]

    def follow(self) -> None:
        for weight, shadow in zip(self.weights, self.shadows, strict=True):
            shadow.assign(0.9 * shadow + 0.1 * weight)


class Averaging(Vae):
    """Is trained towards averages of its own weights; its parts build at their first step."""

    def __init__(self) -> None:
        super().__init__()
        self.averages = Averages(self.encoder.weights)

    def make_decoder(self) -> Any:
        return keras.Sequential([layers.Dense(8, activation="tanh"), layers.Dense(FEATURES)])

    def train_step(self, data: Any) -> dict[str, Any]:
        found = super().train_step(data)
        self.averages.follow()
        self.encoder.weights[0].assign(self.averages.shadows[0])
        return found


def two_optimizers(kind: type[Any]) -> Any:
    """The model, compiled with an optimizer for each part."""
    model = kind()
    model.compile(keras.optimizers.Adam(0.02, beta_1=0.5), keras.optimizers.RMSprop(0.01))
    return model


def one_optimizer(kind: type[Any], **settings: Any) -> Any:
    """The model, compiled with Adam."""
    model = kind()
    model.compile(optimizer=keras.optimizers.Adam(0.02), **settings)
    return model


def all_of(*names: str) -> Any:
    """Values of everything that an optimizer, a variable or a model among the attributes has."""

    def read(model: Any) -> list[Any]:
        found: list[Any] = []
        for name in names:
            value: Any = getattr(model, name)
            each = list(value.values()) if isinstance(value, dict) else [value]
            for one in each:
                found += one.variables if hasattr(one, "variables") else [one]
        return [ops.convert_to_numpy(each) for each in found]

    return read


_TWO = "2 optimizers use these variables"
_PARTS = ("d_optimizer", "g_optimizer", "discriminator", "generator", "seeds")


def _seeded(*names: str) -> Any:
    read = all_of(*(name for name in names if name != "seeds"))
    return lambda model: [*read(model), ops.convert_to_numpy(model.seeds.state)]


SCENARIOS = [
    Scenario(
        "GAN",
        lambda: two_optimizers(Gan),
        real_only,
        why_assign=_TWO,
        beside=_seeded(*_PARTS, "d_loss_metric", "g_loss_metric"),
    ),
    Scenario(
        "GAN with its optimizers in a tuple",
        lambda: two_optimizers(PairedGan),
        real_only,
        why_assign=_TWO,
        beside=_seeded(*_PARTS, "d_loss_metric", "g_loss_metric"),
    ),
    Scenario(
        "WGAN with gradient penalty",
        lambda: two_optimizers(WassersteinGan),
        real_only,
        why_assign=_TWO,
        beside=_seeded(*_PARTS),
    ),
    Scenario(
        "conditional GAN",
        lambda: two_optimizers(ConditionalGan),
        data.arrays,
        why_assign=_TWO,
        beside=_seeded(*_PARTS),
    ),
    Scenario(
        "VAE", lambda: one_optimizer(Vae), real_only, beside=_seeded("encoder", "decoder", "seeds")
    ),
    Scenario(
        "diffusion with averaged weights",
        lambda: one_optimizer(Diffusion),
        real_only,
        beside=all_of("network", "ema_network", "normalizer", "optimizer"),
    ),
    Scenario(
        "distillation",
        lambda: one_optimizer(Distiller),
        data.validated,
        beside=all_of("teacher", "student", "optimizer"),
    ),
    Scenario(
        "contrastive learning with a queue",
        lambda: two_optimizers(Contrastive),
        two_views,
        why_assign=_TWO,
        beside=all_of("parts", "optimizers", "queue", "temperature", "rounds"),
    ),
    Scenario(
        "averages in an object of the script",
        lambda: one_optimizer(Averaging),
        real_only,
        beside=lambda model: [ops.convert_to_numpy(each) for each in model.averages.shadows],
    ),
]
"""Models where the outer one is never built, or holds more than Keras lists."""
