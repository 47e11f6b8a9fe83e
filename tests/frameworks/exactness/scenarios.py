# pyright: reportArgumentType=false
"""Trainings that a reload must not change, on any backend of Keras 3."""

import functools

import keras

from tests.frameworks.exactness import data, models
from tests.support.exactness import Scenario

CORE = [
    Scenario("Adam, Dropout, BatchNorm", models.dense, data.validated),
    Scenario("AdamW with a schedule", models.adamw_schedule, data.arrays),
    Scenario(
        "ReduceLROnPlateau before us",
        lambda: models.dense(metrics=["accuracy"]),
        data.validated,
        callbacks=lambda: [
            keras.callbacks.ReduceLROnPlateau(patience=1, factor=0.5, min_delta=10.0)
        ],
        reload_last=True,
    ),
    Scenario(
        "keras.random without a seed",
        lambda: models.with_layer(models.UnseededNoise()),
        data.arrays,
    ),
]
"""A few that together meet most of what a reload touches."""

NOT_BY_ITSELF = frozenset({"LossScaleOptimizer", "MultiOptimizer", "Optimizer"})
"""Base class, and what wraps others; these have their own scenarios."""

KINDS = sorted(
    name
    for name, kind in vars(keras.optimizers).items()
    if isinstance(kind, type)
    and issubclass(kind, keras.optimizers.Optimizer)
    and name not in NOT_BY_ITSELF
)
"""Every optimizer that the installed Keras has, those of later versions too."""

OPTIMIZERS = [
    *(
        Scenario(
            f"every optimizer: {name}",
            functools.partial(models.with_optimizer, name),
            data.arrays,
        )
        for name in KINDS
    ),
    *(
        Scenario(f"MultiOptimizer by {name}", make, data.arrays)
        for name, make in models.MULTI_OPTIMIZERS.items()
        if hasattr(keras.optimizers, "MultiOptimizer")
    ),
    Scenario(
        "averages swapped in for validation",
        models.moving_average,
        data.validated,
        callbacks=lambda: [keras.callbacks.SwapEMAWeights(swap_on_epoch=True)],
    ),
    Scenario("SGD with momentum and restarts", models.sgd_cosine, data.arrays),
    Scenario("AMSGrad, clipped", models.amsgrad_clipped, data.arrays),
    Scenario("Lion", models.ftrl_lion, data.arrays),
    Scenario("EMA", models.moving_average, data.arrays),
    Scenario("gradient accumulation", models.accumulating, data.arrays),
    Scenario(
        "mixed precision with loss scale",
        lambda: models.in_precision("mixed_float16"),
        data.arrays,
    ),
    Scenario("bfloat16", lambda: models.in_precision("mixed_bfloat16"), data.arrays),
]

LAYERS = [
    Scenario(
        "keras.random with a seed", lambda: models.with_layer(models.SeededNoise()), data.arrays
    ),
    Scenario(
        "add_loss and a counting weight",
        lambda: models.with_layer(models.Penalised()),
        data.arrays,
    ),
    Scenario("stateful LSTM", models.stateful_lstm, data.unshuffled),
    Scenario("Embedding and GRU", models.embedded_gru, data.tokens),
    Scenario("two outputs", models.two_outputs, data.two_targets),
    Scenario("one layer twice", models.siamese, data.arrays),
    Scenario("frozen nested model", models.frozen_nested, data.validated),
    Scenario("LoRA", models.lora, data.arrays),
    Scenario("convolutions and augmentation", models.images, data.pictures),
    Scenario("attention and norms", models.attention, data.pairs),
    Scenario("regularisers and constraints", models.constrained, data.arrays),
    Scenario("subclassed, built by its first batch", models.subclassed, data.arrays),
]

FITTING = [
    Scenario(
        "AUC and F1",
        lambda: models.dense(metrics=["AUC", keras.metrics.F1Score(threshold=0.5)]),
        data.validated,
    ),
    Scenario("validation split", models.dense, data.split),
    Scenario("sample weights", lambda: models.dense(weighted_metrics=["accuracy"]), data.weighted),
    Scenario("class weights", models.dense, data.class_weighted),
    Scenario("generator", models.dense, data.generated),
    Scenario("PyDataset", models.dense, data.batches),
    Scenario("PyDataset with workers", models.dense, data.batches_by_workers),
    Scenario("steps_per_execution", lambda: models.dense(steps_per_execution=3), data.arrays),
    Scenario("jit_compile", lambda: models.dense(jit_compile=True), data.arrays),
    Scenario("run_eagerly", lambda: models.dense(run_eagerly=True), data.arrays),
    Scenario(
        "ReduceLROnPlateau behind us",
        models.dense,
        data.arrays,
        callbacks=lambda: [
            keras.callbacks.ReduceLROnPlateau("loss", patience=1, factor=0.5, min_delta=10.0)
        ],
    ),
    Scenario(
        "EarlyStopping behind us",
        models.dense,
        data.validated,
        callbacks=lambda: [
            keras.callbacks.EarlyStopping(
                patience=3, min_delta=1.0, restore_best_weights=True, start_from_epoch=0
            )
        ],
        epochs=6,
    ),
    Scenario(
        "EarlyStopping before us",
        models.dense,
        data.validated,
        callbacks=lambda: [
            keras.callbacks.EarlyStopping(patience=3, min_delta=1.0, restore_best_weights=True)
        ],
        epochs=6,
        reload_last=True,
    ),
    Scenario(
        "LearningRateScheduler",
        models.dense,
        data.arrays,
        callbacks=lambda: [
            keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.7**epoch)
        ],
    ),
]

SCENARIOS = [*OPTIMIZERS, *LAYERS, *FITTING]
"""All others."""
