"""Models that have their variables, and models that would make them when they are called."""

from typing import Any

import keras
import pytest
from keras import layers

from kmonitor_agent.frameworks.layout_reader import ModelNotBuilt, check_is_built
from tests.support.reloading import KERAS

pytestmark = [*KERAS, pytest.mark.filterwarnings("ignore:.*built")]


class Nested(layers.Layer):
    """Has a layer with weights and makes none itself."""

    def __init__(self) -> None:
        super().__init__()
        self.inside = layers.Dense(3)

    def call(self, inputs: Any) -> Any:  # pyright: ignore[reportImplicitOverride]
        return self.inside(inputs)


class Own(keras.Model):
    """Computes in its own code; a layer of it is of no use, and a part of it is known."""

    def __init__(self) -> None:
        super().__init__()
        self.known = keras.Sequential([layers.Input((3,)), layers.Dense(5)])
        self.nested = Nested()
        self.flat = layers.Flatten()
        self.unused = layers.Dense(7)

    def call(self, inputs: Any) -> Any:  # pyright: ignore[reportImplicitOverride]
        return self.known(self.flat(self.nested(inputs)))


class BuildsItself(Own):
    """Builds what has weights when it is built."""

    def build(self, input_shape: Any) -> None:  # pyright: ignore[reportImplicitOverride]
        self.nested.inside.build(input_shape)
        self.nested.built = True
        self.unused.build(input_shape)
        self.built = True


def marked(model: Any) -> Any:
    model.build((None, 4))
    return model


def called(model: Any) -> Any:
    model(keras.Input((4,)))
    return model


@pytest.mark.parametrize(
    "make",
    [Own, lambda: marked(Own()), lambda: keras.Sequential([layers.Dense(2)])],
    ids=["never built", "only marked as built", "sequential without an input"],
)
def test_a_model_that_would_make_weights_when_called_is_refused_and_stays_as_it_is(make: Any):
    model = make()
    before = [each.path for each in model.variables]

    with pytest.raises(ModelNotBuilt, match="call it on an Input"):
        check_is_built(model)

    assert [each.path for each in model.variables] == before
    check_is_built(called(model))


@pytest.mark.parametrize(
    "make",
    [
        lambda: called(Own()),
        lambda: marked(BuildsItself()),
        lambda: keras.Sequential([layers.Input((4,)), called(Own())]),
    ],
    ids=["with a layer that nothing uses", "that builds its layers itself", "in another one"],
)
def test_a_model_whose_used_layers_have_their_weights_has_its_shapes(make: Any):
    check_is_built(make())
