# pyright: basic
"""Classes are known by what defines them, not by what they say; attributes are read statically."""

import collections
import functools
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import keras
import numpy as np
import pytest

from kmonitor_agent.frameworks.model_facts import read_learning_rate, variable_bytes
from kmonitor_agent.frameworks.model_parts import variable_dtype, variable_name, variable_path
from kmonitor_agent.frameworks.script_values import (
    class_module,
    class_name,
    class_package,
    contents_of,
    holds_only_known,
    instance_dict,
    is_known_class,
    is_known_function,
)

pytestmark = pytest.mark.keras


def fail(*_: Any, **__: Any) -> Any:
    pytest.fail("code of the script's ran")


class Meta(type):
    """A metaclass that fails at any access."""

    __hash__ = __eq__ = __repr__ = __len__ = __iter__ = fail  # pyright: ignore[reportAssignmentType]
    __name__ = __module__ = __mro__ = property(fail)  # pyright: ignore[reportAssignmentType]


class OddList(list[Any]):
    __len__ = __iter__ = __getitem__ = fail


class OddDict(dict[Any, Any]):
    __len__ = __iter__ = __getitem__ = values = items = keys = fail


class OddSet(set[Any]):
    __len__ = __iter__ = fail


def test_classes_of_python_and_the_frameworks_are_known():
    known = [float, dict, collections.OrderedDict, functools.partial, Path, ModuleType]
    known += [np.ndarray, np.float32, type(np.dtype("float32"))]
    known += [keras.layers.Dense, keras.optimizers.Adam, keras.Variable, keras.Sequential]

    assert [each for each in known if not is_known_class(each)] == []
    assert class_package(keras.layers.Dense) == "keras"


def test_a_class_that_only_says_to_be_pythons_is_not_known(monkeypatch: Any, tmp_path: Path):
    names: dict[str, Any] = {}
    exec("class S(float):\n    def __float__(self): return 1.0", names)  # noqa: S102 - as a script may
    (tmp_path / "profile.py").write_text("class Value:\n    def __str__(self): return ''\n")
    monkeypatch.delitem(sys.modules, "profile", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    value = __import__("profile").Value
    monkeypatch.delitem(sys.modules, "profile")

    @functools.wraps(keras.layers.Dense, updated=())
    class Wrapped(keras.layers.Dense):
        def call(self, x: Any) -> Any:
            return x

    assert names["S"].__module__ == "builtins"
    wrapped: Any = Wrapped
    for each in (names["S"], value, wrapped):
        assert not is_known_class(each)
        assert class_package(each) == ""


def test_a_function_is_known_by_its_file():
    @functools.wraps(keras.activations.relu)
    def wrapped(x: Any) -> Any:
        return x

    assert is_known_function(keras.activations.relu)
    assert is_known_function(functools.partial(keras.activations.relu, max_value=1.0))
    assert not is_known_function(wrapped)
    assert not is_known_function(functools.partial(wrapped))
    assert not is_known_function(OddList().append.__self__.__iter__)


def test_attributes_and_names_are_read_past_metaclasses_and_properties():
    class Holds(metaclass=Meta):
        def __init__(self) -> None:
            self.held = 1

        __getattribute__ = __getattr__ = __hash__ = __eq__ = fail  # pyright: ignore[reportAssignmentType]

    class Plain:
        def __init__(self) -> None:
            self.held = 2

    class Property(Plain):
        __dict__: Any = property(fail)

    assert instance_dict(Holds()) == {"held": 1}
    assert class_name(Holds) == "Holds"
    assert class_module(Holds) == __name__
    assert not is_known_class(Holds)
    assert instance_dict(Property()) == {"held": 2}


@pytest.mark.parametrize(
    "make", [OddList, OddSet, lambda each: OddDict(zip("ab", each, strict=True))]
)
def test_containers_are_read_without_their_methods(make: Any):
    assert sorted(contents_of(make([1, 2]))) == [1, 2]
    assert contents_of(make([1, 2]), most=1) == []


def test_a_value_that_holds_something_of_the_scripts_is_seen():
    assert holds_only_known([1, {"a": (np.ones(2), None)}])
    assert not holds_only_known([1, {"a": (OddList(), None)}])
    assert not holds_only_known(np.array([OddList(), 1], dtype=object))


def rate_of(schedule: Any) -> Any:
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(schedule), "mse")
    return read_learning_rate(model)


def test_only_schedules_of_keras_own_code_and_values_are_evaluated(monkeypatch: Any):
    class Rate(float):
        __float__ = __array__ = __mul__ = fail

    schedules = keras.optimizers.schedules
    assert rate_of(schedules.CosineDecay(0.5, 20)).value == 0.5

    odd = schedules.ExponentialDecay(Rate(0.1), 3, 0.9)
    assert "script's own code" in rate_of(odd).absent
    monkeypatch.setattr(schedules.CosineDecay, "__call__", fail)
    assert "script's own code" in rate_of(schedules.CosineDecay(0.5, 20)).absent


def test_a_variable_of_the_scripts_class_is_read_by_what_keras_keeps():
    class Var(keras.Variable):
        is_strict = False

    variable = Var(np.ones((2, 3), "float32"), name="w")
    for name in ("path", "name", "shape", "dtype", "value", "trainable"):
        setattr(Var, name, property(fail))

    assert (variable_name(variable), variable_path(variable)) == ("w", "w")
    assert variable_dtype(variable) == "float32"
    assert variable_bytes(variable) == 24
