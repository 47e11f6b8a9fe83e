"""Records of a tool of a training, read from its own files in the peers' environment.

Its only argument is a JSON object of folder and tool; it prints one JSON line: for each folder the
series by name, each a list of numbers in the order they were written, and how the training ended.
"""

# ruff: noqa: PLC0415 - each reader loads the one tool that wrote the files
# pyright: reportMissingImports=false, reportUnknownMemberType=false

import ast
import json
import os
import re
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Series = dict[str, list[float]]

_BLOCK_BYTES = 32768
_HEAD_BYTES = 7
_FILE_HEAD_BYTES = 7
_LAST_PARTS = (1, 4)
_NO_PART = 0
_AXES = {"_step", "_runtime", "_timestamp", "epoch/epoch"}
"""Keys that W&B draws over, as other tools keep time and step beside a value."""


def tensorboard(folder: Path) -> tuple[Series, str]:
    """Scalars of the event files, by TensorBoard's own reader; it has no word for how it ended."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util import tensor_util

    found: Series = {}
    for writer in sorted({path.parent for path in folder.rglob("*tfevents*")}):
        events = EventAccumulator(str(writer), size_guidance={"tensors": 0})
        events.Reload()
        for tag in events.Tags()["tensors"]:
            values = [tensor_util.make_ndarray(e.tensor_proto) for e in events.Tensors(tag)]
            if values and values[0].shape == () and values[0].dtype.kind == "f":
                found[f"{writer.name}/{tag}"] = [float(value) for value in values]
    return found, ""


def wandb(folder: Path) -> tuple[Series, str]:
    """History and system metrics of the offline file, and whether an exit was written."""
    from wandb.proto.wandb_internal_pb2 import Record

    found: Series = {}
    ended = "no end recorded"
    for path in folder.rglob("*.wandb"):
        for data in records(path.read_bytes()):
            record = Record.FromString(data)
            items = [*record.history.item, *record.stats.item]
            for item in items:
                name = item.key or "/".join(item.nested_key)
                if name not in _AXES:
                    add(found, name, json.loads(item.value_json))
            if record.HasField("exit"):
                ended = f"exit code {record.exit.exit_code}"
            if record.HasField("alert"):
                ended += f", alert {record.alert.title!r}"
    return found, ended


def records(data: bytes) -> Iterator[bytes]:
    """Whole records of a file in LevelDB's log format, as W&B writes it behind 7 bytes."""
    at, parts = _FILE_HEAD_BYTES, b""
    while at + _HEAD_BYTES <= len(data):
        left = _BLOCK_BYTES - at % _BLOCK_BYTES
        size, part = struct.unpack_from("<HB", data, at + 4)
        if left < _HEAD_BYTES or part == _NO_PART:
            at += left
            continue
        parts += data[at + _HEAD_BYTES : at + _HEAD_BYTES + size]
        at += _HEAD_BYTES + size
        if at > len(data):  # it was being written when the process was killed
            return
        if part in _LAST_PARTS:
            yield parts
            parts = b""


def mlflow(folder: Path) -> tuple[Series, str]:
    """Metrics and status of the file store, by MLflow's own client."""
    os.environ |= {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}
    from mlflow import MlflowClient

    client = MlflowClient((folder / "mlruns").as_uri())
    found: Series = {}
    ended: list[str] = []
    for run in client.search_runs(["0"]):
        ended.append(f"status {run.info.status}")
        for key in run.data.metrics:
            found[key] = [m.value for m in client.get_metric_history(run.info.run_id, key)]
    return found, ", ".join(ended)


def by_hand(folder: Path) -> tuple[Series, str]:
    """The numbers of the lines that it wrote."""
    found: Series = {}
    for line in (folder / "said.txt").read_text().splitlines():
        told = re.fullmatch(r"\d+ ({.*}) (\d+) MiB", line)
        if told is not None:
            for name, value in ast.literal_eval(told[1]).items():
                add(found, name, value)
            add(found, "RSS, MiB", float(told[2]))
    return found, ""


def add(found: Series, name: str, value: Any) -> None:
    """One point; what is no number is no point of a series."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        found.setdefault(name, []).append(float(value))


READERS: dict[str, Callable[[Path], tuple[Series, str]]] = {
    "TensorBoard": tensorboard,
    "W&B offline": wandb,
    "MLflow autolog": mlflow,
    "psutil + print": by_hand,
}


def main() -> None:
    """Read all requested folders."""
    asked = json.loads(sys.argv[1])
    told = {folder: READERS[tool](Path(folder)) for folder, tool in asked.items()}
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
