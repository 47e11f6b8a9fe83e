"""Only Keras' own objects are made of a file that no one vouched for."""

from typing import Any

import pytest

from kmonitor.memory.model_files.archive import untrusted_items


def layer(kind: str, module: Any = "keras.layers", **more: Any) -> dict[str, Any]:
    return {"class_name": kind, "module": module, "config": more, "registered_name": None}


def model(*layers: dict[str, Any]) -> dict[str, Any]:
    return {
        "class_name": "Functional",
        "module": "keras.src.models.functional",
        "config": {"layers": list(layers)},
        "registered_name": "Functional",
    }


def test_keras_own_layers_are_trusted():
    policy = {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}}
    glorot = {"module": "keras.initializers", "class_name": "GlorotUniform", "config": {}}

    assert untrusted_items(model(layer("Dense", dtype=policy, kernel_initializer=glorot))) == []


@pytest.mark.parametrize(
    "part",
    [
        layer("system", "os"),
        layer("get_file", "keras.utils"),
        layer("run", "keras.src.utils.file_utils"),
        layer("load_model", "keras.models"),
        layer("exec", "builtins"),
        layer("Lambda"),
        layer("TFSMLayer"),
        {"class_name": "__lambda__", "config": {"value": "..."}},
        {"class_name": "Mine", "module": None, "registered_name": "my>Mine", "config": {}},
        {"class_name": "Mine", "module": "builtins", "registered_name": "Custom>Mine"},
        {"class_name": ["odd"], "module": 3, "config": {}},
        layer("Dense", "kerasevil.layers"),
        layer("Dense", "keras.layers/../os"),
    ],
)
def test_what_could_run_code_is_named(part: dict[str, Any]):
    assert untrusted_items(model(layer("Dense", inside=[{"deep": part}])))


def test_each_is_named_once():
    assert untrusted_items(model(layer("system", "os"), layer("system", "os"))) == ["os.system"]


def test_nesting_without_end_is_refused_without_recursion():
    deep: Any = {}
    for _ in range(5000):
        deep = {"config": deep}

    assert untrusted_items(deep) == ["an infinitely nested configuration"]
