"""Window, command, notebook and report show the same numbers of a memory map."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

keras: Any = pytest.importorskip("keras")

from keras import layers  # noqa: E402 - after the skip

from kmonitor import notebook  # noqa: E402
from kmonitor.cli import map as map_command  # noqa: E402
from kmonitor.cli.common.terminal import size_text  # noqa: E402
from kmonitor.cli.map import TrainingOptions  # noqa: E402
from kmonitor.memory.calibration import FitMemory, measurements_of  # noqa: E402
from kmonitor.ui.memory.subjects import MapSubject, SizedLayout  # noqa: E402
from kmonitor.ui.report.contents import MapContents, map_contents  # noqa: E402
from kmonitor.ui.report.page import memory_map_section  # noqa: E402
from kmonitor.ui.text.formats import bytes_text, with_plain_spaces  # noqa: E402
from kmonitor_agent.frameworks.layout_reader import read_layout  # noqa: E402
from kmonitor_agent.wire.messages.model_layout import ModelLayout  # noqa: E402
from tests.support.running_tests import LONG  # noqa: E402

pytestmark = [pytest.mark.keras, pytest.mark.slow, LONG]

BATCH = 32
LIMIT_MIB = 24


def pictures(*blocks: Any, side: int = 32) -> Any:
    return keras.Sequential([layers.Input((side, side, 3)), *blocks,
                             layers.GlobalAveragePooling2D(), layers.Dense(10)])  # fmt: skip


def shared() -> Any:
    inputs = keras.Input((32, 32, 3))
    layer = layers.Conv2D(8, 3, padding="same", activation="relu")
    x = layers.Conv2D(8, 3, padding="same")(inputs)
    for _ in range(4):
        x = layers.Add()([x, layer(x)])
    return keras.Model(inputs, layers.Dense(3)(layers.Flatten()(x)))


def frozen() -> Any:
    inner = pictures(layers.Conv2D(16, 3), layers.Conv2D(16, 3))
    inner.trainable = False
    return keras.Sequential([layers.Input((32, 32, 3)), inner, layers.Dense(4)])


def series(*blocks: Any) -> Any:
    return keras.Sequential([layers.Input((64, 16)), *blocks, layers.Flatten(), layers.Dense(2)])


MODELS = {
    "dense": lambda: keras.Sequential(
        [layers.Input((256,)), layers.Dense(512, "relu"), layers.Dense(512), layers.Dense(9)]
    ),
    "convolutions": lambda: pictures(layers.Conv2D(32, 3), layers.Conv2D(32, 3, strides=2)),
    "normed": lambda: pictures(layers.Conv2D(16, 3), layers.BatchNormalization(), layers.ReLU()),
    "separable": lambda: pictures(*(layers.SeparableConv2D(16, 3) for _ in range(3))),
    "depthwise": lambda: pictures(layers.Conv2D(16, 3), layers.DepthwiseConv2D(3, padding="same")),
    "dropped": lambda: pictures(layers.Conv2D(32, 5), layers.Dropout(0.3), layers.MaxPooling2D()),
    "shared": shared,
    "frozen": frozen,
    "recurrent": lambda: series(layers.LSTM(32, return_sequences=True)),
    "filtered": lambda: series(layers.Conv1D(64, 3, activation="gelu"), layers.MaxPooling1D()),
}


@dataclass(frozen=True, slots=True)
class Surfaces:
    """One model's map, as it is shown: the command's JSON and text, report, notebook."""

    document: dict[str, Any]
    text: str
    report: MapContents
    notebook: Any


def surfaces(
    model: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Surfaces:
    # A run sends its layout alone, and so does a notebook of a model that runs without a graph.
    model.compile("adam", "mse", run_eagerly=True)
    layout = read_layout(model)
    fit = FitMemory(1, layout, BATCH, None, "CPU")
    monkeypatch.setattr(map_command, "run_memory", lambda _: (fit, measurements_of([fit])))

    def printed(*, as_json: bool) -> str:
        map_command.memory_map(
            "run:x",
            training=TrainingOptions(uncalibrated=True),
            limit=f"{LIMIT_MIB}MiB",
            advice=True,
            as_json=as_json,
        )
        return capsys.readouterr().out

    report = map_contents(window_subject(layout))
    assert report is not None
    document = json.loads(printed(as_json=True))
    return Surfaces(
        document, printed(as_json=False), report, notebook.memory_map(model, batch=BATCH)
    )


def window_subject(layout: ModelLayout) -> MapSubject:
    sizes = (SizedLayout("", layout),)
    limit = LIMIT_MIB * 2**20
    return MapSubject("x", "x", "run", sizes=sizes, batch=BATCH, limit_bytes=limit)


@pytest.mark.parametrize("name", list(MODELS))
def test_all_surfaces_show_one_map(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    shown = surfaces(MODELS[name](), monkeypatch, capsys)

    document = shown.document
    peak = document["peak_bytes"]
    assert sum(row.values[2] for row in shown.report.rows) == peak
    assert [peak] == [each["peak_bytes"] for each in document["curve"] if each["batch"] == BATCH]
    assert [peak] == [each.peak_bytes for each in shown.report.points if each.batch == BATCH]
    assert shown.report.totals.peak == bytes_text(peak)
    assert f"peak {size_text(peak)} (" in shown.text
    found = shown.notebook
    assert (found.peak_bytes, found.resident_bytes) == (peak, document["resident_bytes"])
    assert sum(each.total_bytes for each in found.layers) == peak
    check_fit_and_advice(shown)


def check_fit_and_advice(shown: Surfaces) -> None:
    fit = shown.document["fit"]
    assert f"{fit['likely']} by the estimate" in shown.text
    assert f"{fit['likely']} fits according to the estimate" in shown.report.fit.replace(
        "\u202f", ""
    )
    advice = shown.document["advice"]
    saved = [f"\u2212{bytes_text(each['saved_bytes'])}" for each in advice]
    assert saved == [each.saved for each in shown.report.advice]
    assert all(size_text(each["saved_bytes"]) in shown.text for each in advice)
    page = with_plain_spaces(memory_map_section(shown.report))
    assert all(with_plain_spaces(each) in page for each in (shown.report.totals.peak, *saved))
