"""A model's attributes may be anything; each is read separately, and all reports can be sent."""

import types
from typing import Any

import pytest

from kmonitor_agent.frameworks.model_facts import read_description, read_fit_facts
from kmonitor_agent.wire.messages.codec import decode_event, encode_event
from kmonitor_agent.wire.messages.events import FitStarted
from tests.support.odd_values import ODD

ATTRIBUTES = (
    *("name", "optimizer", "jit_compile", "run_eagerly", "dtype_policy", "loss", "built"),
    *("steps_per_execution", "layers", "weights", "_jit_compile", "_dtype_policy", "_layers"),
    *("_trainable_variables", "_trainable", "_name", "_operations", "_run_eagerly"),
)


class Raising:
    """A model all of whose attributes raise, but for those that it is given."""

    def __init__(self, **given: Any) -> None:
        self.__dict__.update(given)

    def __getattr__(self, name: str) -> Any:
        raise LookupError(name)


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_an_odd_attribute_costs_only_itself(attribute: str):
    for name, value in ODD.items():
        model = types.SimpleNamespace(name="mine", loss="mse", layers=[], weights=[])
        setattr(model, attribute, value)

        facts = read_fit_facts(model)
        description = read_description(model)

        assert facts.loss == "mse" or attribute == "loss", name
        assert description.name == "mine" or attribute == "name", name
        told = FitStarted(
            t_s=0.0,
            fit=1,
            model=facts.model[:200],
            steps_per_execution=facts.steps_per_execution,
            optimizer=facts.optimizer[:200],
            learning_rate=facts.learning_rate,
            jit_compile=facts.jit_compile,
            run_eagerly=facts.run_eagerly,
        )
        assert decode_event(encode_event(told)), name


@pytest.mark.keras
@pytest.mark.parametrize(
    "attribute", ["name", "_dtype_policy", "_inbound_nodes", "_trainable_variables", "_layers"]
)
def test_an_odd_layer_leaves_the_others(attribute: str):
    import keras  # noqa: PLC0415

    for name, value in ODD.items():
        layers = [keras.layers.Dense(1, name=f"layer_{n}") for n in range(3)]
        layers[1].__dict__[attribute] = value

        described = read_description(types.SimpleNamespace(name="mine", layers=layers))

        names = [each.name for each in described.layers]
        assert names[::2] == ["layer_0", "layer_2"], name


def test_an_odd_learning_rate_is_absent_or_a_number():
    for name, value in ODD.items():
        model = types.SimpleNamespace(optimizer=types.SimpleNamespace(learning_rate=value))

        rate = read_fit_facts(model).learning_rate

        assert rate is None or type(rate) is float, name


def test_a_model_all_of_whose_attributes_raise_is_told_by_its_class():
    assert read_fit_facts(Raising()).model == "Raising"
    assert read_description(Raising(name="mine")).kind == "Raising"
