"""The framework of a model; nothing is imported to find out."""

import subprocess
import sys
from pathlib import Path

import keras
import pytest

from kmonitor_agent.frameworks import detection
from kmonitor_agent.frameworks.detection import UnknownFramework, framework_for
from kmonitor_agent.reclaim.actions import collect, reload
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag
from kmonitor_agent.reclaim.checkpoints import CheckpointStore
from tests.support.reloading import KERAS, dense_model

pytestmark = KERAS


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detection, "_known", {})


@pytest.mark.slow
def test_importing_loads_no_framework():
    code = (
        "import sys, kmonitor_agent.frameworks.detection as d, kmonitor_agent.reclaim.actions;"
        "d.framework_for(object());"
        "sys.exit(any(m in sys.modules for m in ('keras', 'tensorflow', 'jax', 'torch', 'h5py')))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_keras_model_on_tensorflow_is_known_with_its_versions():
    framework = framework_for(keras.Sequential())

    assert framework.info().backend == "tensorflow"
    assert framework.info().versions["keras"] == keras.__version__
    assert "reload" not in framework.info().unavailable
    assert framework_for(keras.Model()) is framework


@pytest.mark.parametrize("backend", ["numpy", "openvino"])
def test_other_backends_are_named_and_say_why_they_cannot(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, backend: str
):
    monkeypatch.setattr(keras.backend, "backend", lambda: backend)
    model = dense_model()

    framework = framework_for(model)

    assert isinstance(framework, UnknownFramework)
    assert framework.info().backend == backend
    assert backend in framework.info().unavailable["reload"]
    assert framework.describe(model).parameters == model.count_params()
    assert framework.fit_facts(model).optimizer == "SGD"
    assert backend in framework.graph(model).absent
    outcome = reload(framework, model, CheckpointStore(tmp_path), tag=CheckpointTag("run", 1, 0))
    assert not outcome.ok
    assert backend in outcome.why


def test_what_is_no_keras_model_is_answered_with_reasons():
    framework = framework_for(object())

    assert framework.info().backend == ""
    assert framework.function_count().absent
    assert framework.allocator().in_use.absent
    assert framework.fit_facts(object()).learning_rate is None
    assert framework.describe(object()).layers == ()
    assert framework.learning_rate(object()).absent
    assert not collect(framework, None).ok


def test_tf_keras_is_told_from_keras_3_and_can_do_the_same():
    kind = type("Model", (), {"__module__": "tf_keras.src.engine.training", "name": "old"})

    framework = framework_for(kind())

    assert framework.info().backend == "tensorflow"
    assert framework is not framework_for(keras.Model())
    assert "reload" not in framework.info().unavailable
    assert framework.graph(None).absent == ""
    assert framework.fit_facts(kind()).model == "old"
    assert collect(framework, None).ok
