"""Our figures in Keras' logs: what reads them writes them down, and the training is as without."""

# pyright: reportImplicitOverride=false, reportIncompatibleMethodOverride=false
import csv
import importlib
import importlib.util
import math
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from kmonitor_agent import MonitorCallback
from kmonitor_agent.recording.keras_logs import LOG_NAMES
from kmonitor_agent.wire.messages.events import EpochEnded, Notice
from tests.support import callback_fits
from tests.support.callback_fits import Told, X, Y, fit, of, small_model
from tests.support.recorders import recorder_of
from tests.support.reloading import KERAS

pytestmark = [*KERAS, pytest.mark.slow]

closed_runs = callback_fits.closed_runs
told = callback_fits.told


@pytest.fixture
def monitor() -> Any:
    return MonitorCallback("run", hub="off", logs=True)


class Seen(keras.callbacks.Callback):
    """Keeps a copy of each epoch's logs."""

    def __init__(self) -> None:
        super().__init__()
        self.logs: list[dict[str, float]] = []

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.logs.append(dict(logs))


def test_csv_logger_has_a_column_for_each_from_the_first_epoch_on(monitor: Any, tmp_path: Path):
    written = tmp_path / "log.csv"
    fit(small_model(), monitor, keras.callbacks.CSVLogger(str(written)), epochs=3)

    with written.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3
    assert set(LOG_NAMES) < set(rows[0])
    assert all(float(row["kmonitor/process_bytes"]) > 1e7 for row in rows)
    assert all(float(row["kmonitor/graph_operations"]) > 0 for row in rows)
    assert all(float(row["kmonitor/step_time_seconds"]) > 0 for row in rows)


def test_what_cannot_be_read_is_nan_and_its_name_is_there_all_the_same(monitor: Any):
    seen = Seen()
    recorder: Any = recorder_of(monitor)
    recorder.log_writer.epoch_ended = None  # raises where it is called
    fit(small_model(), monitor, seen)

    assert [set(logs) for logs in seen.logs] == [{"loss", *LOG_NAMES}] * 2
    assert all(math.isnan(logs[name]) for logs in seen.logs for name in LOG_NAMES)


def test_history_has_them_and_what_we_tell_of_the_epoch_has_not(monitor: Any, told: Told):
    history = fit(small_model(), monitor).history

    assert set(history) == {"loss", *LOG_NAMES}
    assert [set(event.logs) for event in of(EpochEnded, told(monitor))] == [{"loss"}] * 2


def test_a_second_callback_of_ours_does_not_take_them_for_metrics(monitor: Any, told: Told):
    other: Any = MonitorCallback("other", hub="off")
    fit(small_model(), monitor, other)

    assert [set(event.logs) for event in of(EpochEnded, told(other))] == [{"loss"}] * 2


def test_two_that_fill_logs_leave_the_first_ones_figures(monitor: Any):
    first, both = Seen(), Seen()
    fit(small_model(), monitor, first, MonitorCallback("run", hub="off", logs=True), both)

    assert first.logs == both.logs
    assert all(logs["kmonitor/process_bytes"] > 1e7 for logs in both.logs)


def test_without_being_asked_the_logs_are_keras_own():
    seen = Seen()
    fit(small_model(), MonitorCallback("run", hub="off"), seen)

    assert [set(logs) for logs in seen.logs] == [{"loss"}] * 2


def test_the_training_is_the_same_to_the_bit(tmp_path: Path):
    def trained(*ours: Any) -> tuple[list[Any], dict[str, list[float]]]:
        keras.utils.set_random_seed(7)
        model = small_model()
        theirs = [
            keras.callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=1, min_delta=1000),
            keras.callbacks.EarlyStopping("loss", patience=3, min_delta=1000),
            keras.callbacks.ModelCheckpoint(
                str(tmp_path / "best-{epoch}-{loss:.3f}.weights.h5"),
                "loss",
                save_weights_only=True,
            ),
        ]
        history = fit(model, *ours, *theirs, epochs=8).history
        own = {name: values for name, values in history.items() if name not in LOG_NAMES}
        return model.get_weights(), own

    plain, plain_history = trained()
    watched, history = trained(MonitorCallback("run", hub="off", logs=True))

    assert history == plain_history
    assert all(np.array_equal(one, other) for one, other in zip(plain, watched, strict=True))


def test_who_stands_in_front_of_us_is_told_once(monitor: Any, told: Told, tmp_path: Path):
    logger = keras.callbacks.CSVLogger(str(tmp_path / "log.csv"))
    model = small_model()
    fit(model, logger, monitor)
    fit(model, logger, monitor)

    [notice] = [each for each in of(Notice, told(monitor)) if each.code == "logs_order"]
    assert "CSVLogger before MonitorCallback" in notice.text
    assert "put MonitorCallback first" in notice.text


def test_nothing_is_told_where_we_come_first(monitor: Any, told: Told, tmp_path: Path):
    fit(small_model(), monitor, keras.callbacks.CSVLogger(str(tmp_path / "log.csv")))

    assert not [each for each in of(Notice, told(monitor)) if each.code == "logs_order"]


def test_a_training_in_parts_has_them_in_every_epoch(monitor: Any):
    import kmonitor_agent  # noqa: PLC0415 - beside its callback

    seen = Seen()
    _, history = kmonitor_agent.fit(
        small_model(), X, Y, batch_size=8, epochs=2, verbose=0, callbacks=[monitor, seen]
    )

    assert [set(logs) for logs in seen.logs] == [{"loss", *LOG_NAMES}] * 2
    assert set(history.history) == {"loss", *LOG_NAMES}


def _write_scalar(name: str, data: float, step: int) -> Any:
    """In the place of TensorBoard's own, which it brings along; the file is TensorFlow's."""
    return tf.summary.write(tag=name, tensor=tf.constant(data, tf.float32), step=step)


def test_tensorboards_callback_writes_them_into_its_event_file(
    monitor: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    if importlib.util.find_spec("tensorboard") is None:
        monkeypatch.setattr(importlib.import_module("tensorflow.summary"), "scalar", _write_scalar)
    fit(small_model(), monitor, keras.callbacks.TensorBoard(str(tmp_path), write_graph=False))

    [file] = tmp_path.glob("train/events.out.*")
    read: dict[str, list[float]] = {}
    for event in tf.compat.v1.train.summary_iterator(str(file)):
        for value in event.summary.value:
            if value.tag.startswith("epoch_"):
                read.setdefault(value.tag, []).append(float(tf.make_ndarray(value.tensor)))
    assert {f"epoch_{name}" for name in LOG_NAMES} < set(read)
    assert len(read["epoch_kmonitor/process_bytes"]) == 2
    assert min(read["epoch_kmonitor/process_bytes"]) > 1e7
