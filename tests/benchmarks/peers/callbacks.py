"""Arguments of `fit` for each tool that is measured; runs in the peers' own environment."""

# ruff: noqa: PLC0415 - what a tool's import costs is measured, and belongs to that tool alone
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportImplicitOverride=false

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any


def nothing(_folder: Path) -> list[Any]:
    """No callback."""
    return []


def ours(_folder: Path) -> list[Any]:
    """Our callback as the README has it."""
    from kmonitor_agent import MonitorCallback

    return [MonitorCallback("side by side")]


def tensorboard(folder: Path) -> list[Any]:
    """Keras' callback with its defaults: scalars by epoch, the graph once."""
    import keras
    import tensorboard  # noqa: F401 - Keras imports it late; its import belongs to this tool

    return [keras.callbacks.TensorBoard(str(folder))]


def tensorboard_by_batch(folder: Path) -> list[Any]:
    """The same, with scalars of each batch."""
    import keras
    import tensorboard  # noqa: F401

    return [keras.callbacks.TensorBoard(str(folder), update_freq="batch")]


def wandb_offline(folder: Path) -> list[Any]:
    """W&B without network: its Keras callback, and the system metrics that `init` turns on."""
    os.environ |= {"WANDB_MODE": "offline", "WANDB_DIR": str(folder), "WANDB_SILENT": "true"}
    import wandb
    from wandb.integration.keras import WandbMetricsLogger

    wandb.init(project="side-by-side", dir=str(folder))
    return [WandbMetricsLogger()]


def mlflow_autolog(folder: Path) -> list[Any]:
    """MLflow's autolog with system metrics on a local file store; it adds its own callback."""
    os.environ |= {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}
    import mlflow

    mlflow.set_tracking_uri((folder / "mlruns").as_uri())
    mlflow.enable_system_metrics_logging()
    mlflow.tensorflow.autolog()
    return []


def by_hand(folder: Path) -> list[Any]:
    """The code that people write themselves: psutil, and a line after each epoch."""
    import keras
    import psutil

    class Print(keras.callbacks.Callback):
        def __init__(self) -> None:
            super().__init__()
            self._process = psutil.Process()
            self._file = (folder / "said.txt").open("w")

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            rss = self._process.memory_info().rss
            print(epoch, logs, f"{rss / 2**20:.0f} MiB", file=self._file, flush=True)

    return [Print()]


TOOLS: dict[str, Callable[[Path], list[Any]]] = {
    "none": nothing,
    "ours, hub present": ours,
    "ours, hub absent": ours,
    "ours, hub hung": ours,
    "TensorBoard": tensorboard,
    "TensorBoard by batch": tensorboard_by_batch,
    "W&B offline": wandb_offline,
    "MLflow autolog": mlflow_autolog,
    "psutil + print": by_hand,
}
"""Callbacks by the name that the table gives the tool; each makes them in an empty folder."""


def threads_now() -> int:
    """Threads of this process, as the system counts them; Python's own where it does not."""
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.exists() else threading.active_count()
