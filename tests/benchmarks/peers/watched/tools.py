"""Each tool as its manual has it, every sample a second; runs in the peers' own environment."""

# ruff: noqa: PLC0415 - a training loads the one tool that it is watched by
# pyright: reportMissingImports=false, reportUnknownMemberType=false

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.benchmarks.peers import callbacks

SAMPLE_S = 1.0
"""Interval for each tool that samples: their own 10 s and 15 s would see too little here."""


def ours(_folder: Path) -> list[Any]:
    """Our callback; a sample a second is its own rate."""
    from kmonitor_agent import MonitorCallback

    return [MonitorCallback("tell")]


def tensorboard(folder: Path) -> list[Any]:
    """Keras' callback, with the one option that records more of a training: steps a second."""
    import keras

    return [keras.callbacks.TensorBoard(str(folder), write_steps_per_second=True)]


def wandb_offline(folder: Path) -> list[Any]:
    """W&B without network: its Keras callback, and system metrics of the process."""
    os.environ |= {"WANDB_MODE": "offline", "WANDB_DIR": str(folder)}
    import wandb
    from wandb.integration.keras import WandbMetricsLogger

    settings = wandb.Settings(x_stats_sampling_interval=SAMPLE_S)
    wandb.init(project="tell", dir=str(folder), settings=settings)
    return [WandbMetricsLogger()]


def mlflow_autolog(folder: Path) -> list[Any]:
    """MLflow's autolog with system metrics; all fits in one run, and no model saved."""
    os.environ |= {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}
    import mlflow

    mlflow.set_tracking_uri((folder / "mlruns").as_uri())
    mlflow.enable_system_metrics_logging()
    mlflow.set_system_metrics_sampling_interval(SAMPLE_S)
    mlflow.tensorflow.autolog(log_models=False, log_datasets=False)
    mlflow.start_run()
    return []


OURS = "kmonitor"
BY_HAND = "psutil + print"
TOOLS: dict[str, Callable[[Path], list[Any]]] = {
    OURS: ours,
    "TensorBoard": tensorboard,
    "W&B offline": wandb_offline,
    "MLflow autolog": mlflow_autolog,
    BY_HAND: callbacks.by_hand,
}
"""Callbacks by the name that the table gives the tool; each makes them in an empty folder."""
