"""A target's configuration, before anything is made of it."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("h5py", reason="comes with Keras")

from kmonitor.base.errors import UserError
from kmonitor.memory.model_files.description import model_source_of
from tests.support.model_files import CONFIG, weights_file, write_archive, write_h5


def configs_of(path: Path, config: Path | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Configuration of the model and of how it is compiled."""
    source = model_source_of(str(path), config=config)
    return json.loads(source.config), json.loads(source.compile_config or "{}")


def test_an_archive_has_model_and_compile_configuration_apart(tmp_path: Path):
    model, compiled = configs_of(write_archive(tmp_path / "m.keras"))

    assert model["class_name"] == "Sequential"
    assert "compile_config" not in model
    assert compiled["optimizer"]["class_name"] == "Adam"


def test_what_has_no_optimizer_is_not_compiled(tmp_path: Path):
    path = tmp_path / "m.json"
    path.write_text(json.dumps({**CONFIG, "compile_config": {"loss": "mse"}}), encoding="utf-8")

    assert configs_of(path)[1] == {}


def test_weights_alone_need_an_architecture(tmp_path: Path):
    path, config = tmp_path / "m.weights.h5", tmp_path / "m.json"
    path.write_bytes(weights_file())
    config.write_text(json.dumps(CONFIG), encoding="utf-8")

    with pytest.raises(UserError, match="contains only weights"):
        configs_of(path)
    assert configs_of(path, config)[0]["class_name"] == "Sequential"


def test_an_old_file_keeps_its_own_form_of_how_it_was_compiled(tmp_path: Path):
    model, compiled = configs_of(write_h5(tmp_path / "m.h5"))

    assert "module" not in model
    assert compiled["optimizer_config"]["class_name"] == "Adam"


def test_custom_classes_need_the_file_that_has_them(tmp_path: Path):
    own = {"module": "mine", "class_name": "Encoder", "registered_name": "mine>Encoder"}
    config = {**CONFIG, "config": {"name": "small", "layers": [own]}}
    path, classes = write_archive(tmp_path / "m.keras", config=config), tmp_path / "mine.py"
    classes.write_text("", encoding="utf-8")

    with pytest.raises(UserError, match=r"mine\.Encoder"):
        model_source_of(str(path))
    assert model_source_of(str(path), custom=classes).module == str(classes)


def test_the_file_that_names_what_is_refused_is_named(tmp_path: Path):
    own = {"module": "mine", "class_name": "Encoder", "registered_name": "mine>Encoder"}
    weights, config = tmp_path / "m.weights.h5", tmp_path / "m.json"
    weights.write_bytes(weights_file())
    config.write_text(json.dumps({**CONFIG, "config": {"layers": [own]}}), encoding="utf-8")

    with pytest.raises(UserError, match=r"m\.json uses classes that are not"):
        model_source_of(str(weights), config=config)


def test_code_in_a_file_is_refused_even_with_custom_classes(tmp_path: Path):
    holding = {"module": "keras.layers", "class_name": "Lambda", "config": {}}
    config = {**CONFIG, "config": {"name": "small", "layers": [holding]}}
    path, classes = write_archive(tmp_path / "m.keras", config=config), tmp_path / "mine.py"
    classes.write_text("", encoding="utf-8")

    with pytest.raises(UserError, match="Lambda"):
        model_source_of(str(path), custom=classes)
    assert model_source_of(str(path), allow_code=True).is_trusted


def test_a_script_is_named_with_its_function(tmp_path: Path):
    script = tmp_path / "train.py"
    script.write_text("", encoding="utf-8")

    source = model_source_of(f"{script}:build")

    assert (source.script, source.function) == (str(script), "build")
    with pytest.raises(UserError, match="is a script: name the function"):
        model_source_of(str(script))
