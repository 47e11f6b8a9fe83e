"""Scenes of charts: metrics of the training, many cards, a forecast, many runs."""

import math
from typing import Final

import msgspec
from PySide6.QtWidgets import QWidget

from kmonitor.ui.charts.chart_kinds import PARTS_KEY
from kmonitor_agent.wire.messages.events import (
    EPOCH_PARTS,
    CallbackTime,
    EpochEnded,
    EpochParts,
    FieldSource,
    FieldSources,
    Sample,
    Verdict,
)
from kmonitor_agent.wire.messages.unions import MetricReading
from tests.support.made_up_runs import GIB, NOW_WALL_S, made_up_run
from tests.support.stage import Stage

_EPOCHS: Final = 37
_PER_EPOCH_S: Final = 3720.0 / 37.7


def forecast(stage: Stage) -> QWidget:
    """A leak that will meet its limit."""
    stage.judged()
    stage.desk.window.charts.card("ram").setFocus()
    return stage.window


def six_charts(stage: Stage) -> QWidget:
    """The four and two of the training."""
    return _with_charts(stage, "log:loss", "log:accuracy")


def nine_charts(stage: Stage) -> QWidget:
    """Three by three, with the GPU's."""
    return _with_charts(
        stage, "log:loss", "log:accuracy", "log:learning_rate", "device_temperature_c",
        "ram_unique_bytes",
    )  # fmt: skip


def smoothed(stage: Stage) -> QWidget:
    """Smoothed, with a logarithmic axis."""
    _with_charts(stage, "log:loss", "log:accuracy")
    arranger = stage.desk.controller.arrangement_controller
    arranger.change("log:loss", smoothing=0.9, is_log=True)
    arranger.change("log:accuracy", smoothing=0.6)
    stage.desk.settle()
    return stage.window


def close_endings(stage: Stage) -> QWidget:
    """Thirty runs that go on, all as far and with nearly as much memory."""
    others = [
        made_up_run(
            f"other{at}",
            name=f"sweep-lr-{at:02d}",
            started_wall_s=NOW_WALL_S - 3720.0 - at,
            ram=MetricReading(value=(70.0 + 0.3 * at) * GIB, of=192 * GIB),
            vram=MetricReading(value=(50.0 + 0.1 * at) * GIB, of=80 * GIB),
        )
        for at in range(29)
    ]
    return stage.live(*others)


def _with_charts(stage: Stage, *keys: str, counted: bool = False) -> QWidget:
    stage.live()
    events: list[EpochEnded | Sample] = []
    for epoch in range(_EPOCHS):
        ended_s = (epoch + 1) * _PER_EPOCH_S
        wobble = 0.06 * math.sin(epoch * 2.3)
        part = epoch / _EPOCHS
        logs = {
            "loss": 2.3 * math.exp(-3 * part) + wobble / 2,
            "val_loss": 2.4 * math.exp(-2.4 * part) + wobble,
            "accuracy": 0.92 - 0.8 * math.exp(-3 * part) + wobble / 8,
            "val_accuracy": 0.88 - 0.8 * math.exp(-2.6 * part) + wobble / 4,
            "learning_rate": 1e-3 * (0.5 + 0.5 * math.cos(math.pi * part)),
        }
        events.append(EpochEnded(t_s=ended_s, fit=1, epoch=epoch, seconds=98.0, logs=logs))
        warm = 61.0 + 4 * math.sin(epoch / 3)
        events.append(
            Sample(
                t_s=ended_s,
                ram_unique_bytes=20 * GIB + epoch * 1e8,
                device_temperature_c=warm,
                ram_left_bytes=130 * GIB - epoch * 3e8 if counted else None,
                open_files=90.0 + 14 * epoch if counted else None,
            )
        )
    stage.tell(*events)
    for key in keys:
        stage.desk.controller.arrangement_controller.add(key)
        stage.desk.settle()
        stage.desk.answer()
    stage.tell(*events)
    stage.desk.window.charts.scroll_to(keys[-1])
    stage.desk.settle()
    return stage.window


def resources(stage: Stage) -> QWidget:
    """Resources that a training can run out of: the table on the right, and two charts."""
    window = _with_charts(stage, "open_files", "ram_left_bytes", counted=True)
    sources = {
        "ram_left_bytes": ("bytes", "host: available memory"),
        "open_files": ("files", "process: /proc/self/fd"),
    }
    stage.tell(
        FieldSources(
            t_s=3700.0,
            sources=[FieldSource(name, unit, text) for name, (unit, text) in sources.items()],
        ),
        Sample(
            t_s=3701.0,
            ram_bytes=73.4 * GIB,
            ram_left_bytes=118.6 * GIB,
            ram_of_bytes=192.0 * GIB,
            swapped_bytes=0.0,
            vram_left_bytes=14.2 * GIB,
            shared_memory_bytes=1.2 * GIB,
            shared_memory_of_bytes=96.0 * GIB,
            disk_used_bytes=861.0 * GIB,
            disk_of_bytes=900.0 * GIB,
            temp_disk_used_bytes=12.0 * GIB,
            temp_disk_of_bytes=200.0 * GIB,
            open_files=640.0,
            open_files_of=1024.0,
            threads=44.0,
            threads_of=30_000.0,
            processes=8.0,
            processes_of=29_964.0,
            zombies=2.0,
            major_faults=31.0,
            memory_pressure_fraction=0.0,
            io_pressure_fraction=0.07,
        ),
    )
    stage.desk.settle()
    return window


def where_the_time_goes(stage: Stage) -> QWidget:
    """Beside step time alone, under the pointer: input takes longer from the tenth epoch on."""
    window = five_charts(stage)
    for key in ("vram", "ram", "graph"):
        stage.desk.controller.arrangement_controller.remove(key)
    stage.desk.settle()
    assert stage.desk.board is not None
    stage.desk.window.charts.card(PARTS_KEY).crosshair_moved.emit(PARTS_KEY, 14.5)
    stage.desk.qt.processEvents()
    return window


def five_charts(stage: Stage) -> QWidget:
    """The four, and where the time of each epoch goes."""
    stage.live()
    ended = [_timed_epoch(epoch) for epoch in range(_EPOCHS) if epoch not in {17, 18}]
    stage.tell(*ended)
    stage.desk.controller.arrangement_controller.add(PARTS_KEY)
    stage.desk.settle()
    stage.desk.answer()
    stage.tell(*ended)
    stage.tell(
        Verdict(
            t_s=3500.0,
            metric="epoch_time",
            state="growing",
            per="epoch",
            units=27,
            unit=_EPOCHS,
            since=10,
            rise=31.0,
            cause="part",
            sureness="counted",
            where="input",
            where_part=0.94,
            advice=["prefetch"],
        )
    )
    stage.desk.window.charts.scroll_to(PARTS_KEY)
    stage.desk.settle()
    return stage.window


def _timed_epoch(epoch: int) -> EpochEnded:
    parts = EpochParts(
        wall_s=0.0,
        input_s=4.0 + 0.3 * math.sin(epoch * 1.7) + (31.0 if epoch >= 9 else 0.0),
        compute_s=44.0 + 0.8 * math.sin(epoch),
        callbacks_s=3.2 + 0.12 * epoch,
        checkpoints_s=7.5 if epoch % 5 == 4 else 0.0,
        validation_s=11.0 if epoch % 3 == 2 else 0.0,
        compiling_s=12.5 if epoch == 0 else 0.0,
        between_epochs_s=1.8,
        ours_s=0.01,
        rest_s=0.9,
        timed=1.0,
        callbacks=[CallbackTime("Recorder", 3.0)],
    )
    wall_s = sum(getattr(parts, f"{name}_s") or 0.0 for name in EPOCH_PARTS)
    return EpochEnded(
        t_s=(epoch + 1) * _PER_EPOCH_S,
        fit=1,
        epoch=epoch,
        seconds=98.0,
        parts=msgspec.structs.replace(parts, wall_s=wall_s),
    )


CHART_SCENES: Final = (
    where_the_time_goes,
    five_charts,
    resources,
    forecast,
    six_charts,
    nine_charts,
    smoothed,
    close_endings,
)
