"""A training on JAX or PyTorch continues without TensorFlow where that is installed too."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kmonitor_agent
from kmonitor_agent import MonitorCallback
from kmonitor_agent.frameworks.layout_reader import fit_layout
from kmonitor_agent.frameworks.model_building import model_architecture
from kmonitor_agent.recording.runs import RUNS
from tests.support.backends import ON_BACKEND, on_backend

keras, module_utils, data, models = on_backend(
    "keras",
    "keras.src.utils.module_utils",
    "tests.frameworks.exactness.data",
    "tests.frameworks.exactness.models",
)

pytestmark = ON_BACKEND


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A TensorFlow that can be imported, and that Keras has not imported yet."""
    (tmp_path / "tensorflow.py").write_text("TensorShape = DType = TypeSpec = int\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(module_utils.tensorflow, "_available", None)
    monkeypatch.setattr(module_utils.tensorflow, "module", None)
    yield
    RUNS.close()
    sys.modules.pop("tensorflow", None)


def test_a_model_is_described_without_importing_it() -> None:
    model = models.dense()

    layout = fit_layout(model)

    assert layout is not None
    assert layout.layers[0].settings
    assert model_architecture(model)
    assert "tensorflow" not in sys.modules


def test_a_training_that_goes_on_with_a_new_model_does_not_import_it() -> None:
    monitor = MonitorCallback(hub="off")

    class Asks(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            if epoch == 1:
                monitor.request("reload")

    kmonitor_agent.fit(
        models.dense(), **data.arrays(), epochs=3, verbose=0, callbacks=[monitor, Asks()]
    )

    assert [record.ok for record in monitor.records] == [True]
    assert "tensorflow" not in sys.modules
