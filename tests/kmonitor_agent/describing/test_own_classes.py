"""Classes that a model file names are found in the Python file that the user named, only there."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

keras: Any = pytest.importorskip("keras")

from kmonitor_agent.describing.model_source import ModelOrigin, NoModel, construct_model  # noqa: E402

pytestmark = pytest.mark.slow

CLASSES = """
from os import system

import keras

from another_file_of_the_test import Gathered

@keras.saving.register_keras_serializable("package")
class Registered(keras.layers.Layer):
    pass

class Gated(keras.layers.Layer):
    def call(self, x):
        return x * doubled(x)

def doubled(x):
    return 2 * x

def relu(x):
    return x * 0
"""


@pytest.fixture
def classes(tmp_path: Path) -> Iterator[Path]:
    """A Python file of custom classes; what Keras and Python learn of it is forgotten after."""
    path = tmp_path / "classes_of_the_test.py"
    path.write_text(CLASSES, encoding="utf-8")
    other = "import keras\nclass Gathered(keras.layers.Layer): pass\n"
    (tmp_path / "another_file_of_the_test.py").write_text(other, encoding="utf-8")
    known = keras.saving.get_custom_objects()
    before, paths = dict(known), list(sys.path)
    yield path
    known.clear()
    known.update(before)
    sys.path[:] = paths
    for name in (path.stem, "another_file_of_the_test"):
        sys.modules.pop(name, None)


def model_json(*layers: tuple[str, str, str | None, dict[str, Any]]) -> str:
    """A Sequential's configuration.

    Args:
        layers: Module, class, registered name and configuration of each.
    """
    first = ("keras.layers", "InputLayer", None, {"batch_shape": [None, 3], "name": "in"})
    told = [
        {"module": module, "class_name": kind, "registered_name": registered, "config": config}
        for module, kind, registered, config in (first, *layers)
    ]
    config = {"name": "model", "layers": told}
    return json.dumps({"module": "keras", "class_name": "Sequential", "registered_name": None,
                       "config": config})  # fmt: skip


@pytest.mark.parametrize("registered", ["Gated", "another package>Gated"])
@pytest.mark.parametrize("module", ["models", "__main__", "folder.layers"])
def test_a_class_is_found_by_name_whatever_module_it_was_saved_from(
    classes: Path, module: str, registered: str
):
    config = model_json((module, "Gated", registered, {"name": "gated"}))

    model = construct_model(ModelOrigin(config=config, module=str(classes)))

    assert [type(each).__name__ for each in model.layers] == ["Gated"]


@pytest.mark.parametrize("registered", ["Gathered", "package>Registered"])
def test_what_the_file_gathers_or_registers_is_found_too(classes: Path, registered: str):
    kind = registered.rpartition(">")[2]
    config = model_json(("elsewhere", kind, registered, {"name": "it"}))

    model = construct_model(ModelOrigin(config=config, module=str(classes)))

    assert [type(each).__name__ for each in model.layers] == [kind]


def test_a_function_is_found_and_keras_own_names_stay_its_own(classes: Path):
    own = {"module": "models", "class_name": "function", "config": "doubled",
           "registered_name": "doubled"}  # fmt: skip
    layers = [
        ("keras.layers", "Dense", None, {"name": name, "units": 1, "activation": activation})
        for name, activation in (("a", own), ("b", "relu"))
    ]

    first, second = construct_model(
        ModelOrigin(config=model_json(*layers), module=str(classes))
    ).layers

    assert first.activation.__name__ == "doubled"
    assert second.activation is keras.activations.relu


def test_what_the_file_only_imports_is_not_found(classes: Path):
    own = {"module": "os", "class_name": "function", "config": "system",
           "registered_name": "system"}  # fmt: skip
    config = model_json(
        ("keras.layers", "Dense", None, {"name": "a", "units": 1, "activation": own})
    )

    with pytest.raises(NoModel, match="does not define system"):
        construct_model(ModelOrigin(config=config, module=str(classes)))


def test_a_class_that_the_file_lacks_is_named(classes: Path):
    config = model_json(("models", "Absent", "Absent", {"name": "absent"}))

    with pytest.raises(NoModel, match=r"classes_of_the_test\.py does not define Absent"):
        construct_model(ModelOrigin(config=config, module=str(classes)))
