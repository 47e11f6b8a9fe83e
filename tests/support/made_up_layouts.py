"""Small models described by hand, whose memory can be worked out on paper."""

from kmonitor_agent.wire.messages.model_layout import (
    CallLayout,
    ConfigValue,
    LayerLayout,
    ModelLayout,
    OptimizerLayout,
    TensorLayout,
    VariableLayout,
)


def variable(path: str, *shape: int, is_trainable: bool = True) -> VariableLayout:
    """A float32 variable."""
    return VariableLayout(path, shape, "float32", is_trainable)


def tensor(*lengths: int | None, dtype: str = "float32") -> TensorLayout:
    """A tensor with the batch in front."""
    return TensorLayout((None, *lengths), dtype)


def layer(path: str, kind: str, *variables: int, **settings: ConfigValue) -> LayerLayout:
    """One of Keras' layers."""
    return LayerLayout(path, kind, variables, settings)


def chain(
    layers: list[LayerLayout],
    tensors: list[TensorLayout],
    variables: list[VariableLayout],
    optimizer: str = "Adam",
) -> ModelLayout:
    """Layers one after the other; `tensors` has one more than there are layers."""
    calls = [CallLayout(n, (n,), (n + 1,)) for n in range(len(layers))]
    return ModelLayout(
        name="chain",
        kind="Functional",
        variables=tuple(variables),
        layers=tuple(layers),
        tensors=tuple(tensors),
        calls=tuple(calls),
        inputs=(0,),
        outputs=(len(layers),),
        optimizer=OptimizerLayout(optimizer) if optimizer else None,
        loss="mse",
        has_metrics=False,
    )


def two_dense(optimizer: str = "Adam", *, first_is_trained: bool = True) -> ModelLayout:
    """100 values to 1000 with a relu, then to 10."""
    return chain(
        [layer("wide", "Dense", 0, 1, activation="relu"), layer("out", "Dense", 2, 3)],
        [tensor(100), tensor(1000), tensor(10)],
        [
            variable("wide/kernel", 100, 1000, is_trainable=first_is_trained),
            variable("wide/bias", 1000, is_trainable=first_is_trained),
            variable("out/kernel", 1000, 10),
            variable("out/bias", 10),
        ],
        optimizer,
    )
