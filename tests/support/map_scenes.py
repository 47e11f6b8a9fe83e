"""Scenes of the memory map's page."""

from typing import Final

from PySide6.QtWidgets import QWidget

from kmonitor.memory.model_files.inspection import CompileSettings, ModelFile, StoredLayer
from kmonitor.memory.model_files.load_cost import LoadCost
from kmonitor.ui.memory.load_cost import LoadCostStore
from kmonitor.ui.memory.model_file import model_file_state, reading_file, refused_file
from kmonitor.ui.memory.qt.model_file_window import ModelFileWindow
from kmonitor.ui.memory.subjects import MapSubject
from kmonitor.ui.memory.what_if import GIB
from kmonitor_agent.wire.messages import events
from tests.support.made_up_maps import MIB, file_subject, told_layout, told_model
from tests.support.made_up_runs import GIB as GIB_F
from tests.support.stage import Stage


def map_of_file(stage: Stage) -> QWidget:
    """A model file, with a device chosen."""
    stage.live()
    stage.desk.controller.memory.open_file(file_subject())
    stage.desk.controller.memory.map_estimator.choose(limit_bytes=8 * GIB, batch=64)
    return _worked_out(stage)


def map_of_run(stage: Stage) -> QWidget:
    """A run that sent layers and weights alone."""
    stage.live()
    stage.tell(told_model())
    stage.desk.controller.memory.open()
    return _worked_out(stage)


def map_measured(stage: Stage) -> QWidget:
    """A run that sent how its layers are connected, and the memory of two batch sizes."""
    stage.live(batch_size=64)
    stage.tell(*told_layout(), *told_layout(fit=2, batch=64, scale=1.1))
    stage.desk.controller.memory.open()
    return _worked_out(stage)


def map_no_model(stage: Stage) -> QWidget:
    """A run that has not sent its model yet."""
    stage.live()
    stage.desk.controller.memory.open()
    return _worked_out(stage)


def map_refused(stage: Stage) -> QWidget:
    """A file with classes of the user's own."""
    stage.live()
    subject = MapSubject(
        key="/models/mine.keras",
        title="mine.keras",
        kind="file",
        why_none="mine.keras uses classes that are not part of Keras: layers.MyGate.",
        remedy="Give the Python file with its classes; it runs in a separate process.",
    )
    stage.desk.controller.memory.open_file(subject, needs="custom")
    return _worked_out(stage)


def map_device(stage: Stage) -> QWidget:
    """Contents of a GPU."""
    stage.live()
    stage.tell(told_model(), *gpu_readings())
    memory = stage.desk.controller.memory
    memory.open()
    memory.panel.views.chosen.emit("device")
    return _worked_out(stage)


def map_device_cpu(stage: Stage) -> QWidget:
    """No GPU: the allocator of the CPU alone."""
    stage.live()
    stage.tell(told_model())
    memory = stage.desk.controller.memory
    memory.open()
    memory.panel.views.chosen.emit("device")
    return _worked_out(stage)


def load_cost(stage: Stage) -> QWidget:
    """Cost of each way to load a file, beside its contents."""
    shown = _file_window(stage)
    desk = LoadCostStore()
    desk.finish(COSTS)
    shown.cost.show_state(desk.state())
    shown.show_file(model_file_state(FILE))
    return stage.only(ModelFileWindow)


def load_cost_running(stage: Stage) -> QWidget:
    """While it is measured; the file is read still."""
    shown = _file_window(stage)
    desk = LoadCostStore()
    desk.begin()
    desk.progress(4, 15)
    shown.cost.show_state(desk.state())
    shown.show_file(reading_file())
    return stage.only(ModelFileWindow)


def load_cost_refused(stage: Stage) -> QWidget:
    """A damaged file."""
    shown = _file_window(stage)
    desk = LoadCostStore()
    why = "small_resnet.keras cannot be read as a model: it is damaged or not a .keras file."
    desk.refuse(why, "")
    shown.cost.show_state(desk.state())
    shown.show_file(refused_file(why, ""))
    return stage.only(ModelFileWindow)


def _file_window(stage: Stage) -> ModelFileWindow:
    stage.live()
    shown = ModelFileWindow(stage.desk.look, "small_resnet.keras", stage.desk.window)
    shown.show()
    return shown


COSTS: Final = (
    LoadCost("compiled", 713 * MIB, 401 * MIB, 4.12, "whole", can_train_on=True, repeats=3),
    LoadCost("uncompiled", 492 * MIB, 176 * MIB, 3.31, "lost", repeats=3),
    LoadCost("weights", 287 * MIB, 265 * MIB, 2.94, "without state", repeats=3),
    LoadCost("recompiled", error="Layer 'head' expected 2 variables, but received 0 variables"),
    LoadCost("built", 166 * MIB, 164 * MIB, 1.87, "lost", repeats=3),
)
FILE: Final = ModelFile(
    path="/models/small_resnet.keras",
    form="keras",
    file_bytes=294 * MIB,
    model="small_resnet",
    kind="Functional",
    keras_version="3.15.1",
    saved="2026-09-20@11:02:41",
    precision=("float32",),
    compile_settings=CompileSettings(
        "Adam",
        {"name": "adam", "learning_rate": 0.001, "beta_1": 0.9, "beta_2": 0.999},
        "sparse_categorical_crossentropy",
        ("accuracy",),
        jit_compile=False,
    ),
    layers=tuple(
        StoredLayer(f"encoder/block{n}/conv1", "Conv2D", 9216 * n, 36864 * n, ((3, 3, 32, 32),))
        for n in range(1, 13)
    ),
    parameters=25_600_000,
    weight_bytes=98 * MIB,
    slots=322,
    slot_bytes=196 * MIB,
)


def gpu_readings() -> list[events.Event]:
    """As a GPU's driver and TensorFlow's allocator report it."""
    sources = {
        "device_total_bytes": "driver: NVML, device total",
        "device_used_bytes": "driver: NVML, all processes",
        "device_process_bytes": "driver: NVML, this process",
        "allocator_in_use_bytes": "tensorflow allocator, GPU:0 in use",
        "allocator_peak_bytes": "tensorflow allocator, GPU:0 peak",
    }
    return [
        events.FieldSources(
            t_s=3720.0,
            sources=[events.FieldSource(field, "bytes", text) for field, text in sources.items()],
        ),
        events.Sample(
            t_s=3721.0,
            device_total_bytes=80 * GIB_F,
            device_used_bytes=66 * GIB_F,
            device_process_bytes=61 * GIB_F,
            allocator_in_use_bytes=50.7 * GIB_F,
            allocator_peak_bytes=58.2 * GIB_F,
        ),
    ]


def _worked_out(stage: Stage) -> QWidget:
    memory = stage.desk.controller.memory
    memory.map_estimator.finish()
    memory.refresh_texts()
    stage.desk.settle()
    return stage.window


MAP_SCENES: Final = (
    map_of_file, map_of_run, map_measured, map_no_model, map_refused, map_device, map_device_cpu,
    load_cost, load_cost_running, load_cost_refused,
)  # fmt: skip
