# pyright: reportArgumentType=false
"""Time and memory of loading a ResNet50 with Adam, twice. Run: bench_load_cost.py [REPEATS]."""

import json
import multiprocessing
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kmonitor.memory.model_files.description import ModelSource, model_source_of
from kmonitor.memory.model_files.load_cost import REPEATS, LoadCost, LoadingMethod, measure

MIB = 2**20


@dataclass(frozen=True, slots=True)
class Load:
    """One way to load one file.

    Attributes:
        words: Description of the way.
        file: Name of the file.
        way: Way of loading it.
        kept_mib: Measured by hand when the command was designed, in separate processes.
        peak_mib: Likewise.
    """

    words: str
    file: str
    way: LoadingMethod
    kept_mib: int
    peak_mib: int


LOADS = (
    Load(".keras, compile=True", "model.keras", "compiled", 401, 713),
    Load(".keras, compile=False", "model.keras", "uncompiled", 176, 492),
    Load(".h5, compile=True", "model.h5", "compiled", 181, 196),
    Load(".h5, compile=False", "model.h5", "uncompiled", 172, 194),
    Load("model_from_json, then .h5 weights", "model.h5", "recompiled", 265, 287),
    Load("model built, no weights", "model.h5", "built", 164, 164),
)
"""A model from `model_from_json` has to be compiled again, with
RMSprop where the text names no optimizer: this row measures that."""


def main(repeats: int) -> None:
    """Print both measurements of each way beside the earlier ones, MiB above the framework's."""
    with tempfile.TemporaryDirectory() as folder:
        maker = multiprocessing.get_context("spawn").Process(target=_make, args=(folder,))
        maker.start()
        maker.join()
        twice = [_measured(Path(folder), repeats) for _ in range(2)]
    print("| way | kept MiB | earlier | apart | peak MiB | earlier | apart | s | apart |")
    print("|---|---|---|---|---|---|---|---|---|")
    for load, first, second in zip(LOADS, *twice, strict=True):
        print(
            f"| {load.words} | {first.resident_bytes / MIB:.0f}, "
            f"{second.resident_bytes / MIB:.0f} |"
            f" {load.kept_mib} | {_apart(first.resident_bytes, second.resident_bytes):.1%} |"
            f" {first.peak_bytes / MIB:.0f}, {second.peak_bytes / MIB:.0f} | {load.peak_mib} |"
            f" {_apart(first.peak_bytes, second.peak_bytes):.1%} |"
            f" {first.seconds:.2f}, {second.seconds:.2f} |"
            f" {_apart(first.seconds, second.seconds):.1%} |"
        )


def _apart(one: float, other: float) -> float:
    return abs(one - other) / min(one, other)


def _make(folder: str) -> None:
    """A trained ResNet50 of 1000 classes as a file of each form."""
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    import keras  # noqa: PLC0415 - only in the child
    import numpy as np  # noqa: PLC0415

    model = keras.applications.ResNet50(weights=None, input_shape=(64, 64, 3))
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(np.zeros((2, 64, 64, 3), "float32"), np.zeros(2), verbose=0)
    model.save(f"{folder}/model.keras")
    model.save(f"{folder}/model.h5")
    Path(folder, "model.json").write_text(model.to_json(), encoding="utf-8")


def _measured(folder: Path, repeats: int) -> list[LoadCost]:
    """One invocation: each file's ways in turn."""
    found: dict[Load, LoadCost] = {}
    for source, loads in _sources(folder):
        ways: list[LoadingMethod] = [load.way for load in loads]
        costs = measure(folder / loads[0].file, source, ways, repeats=repeats)
        found |= dict(zip(loads, costs, strict=True))
    return [found[load] for load in LOADS]


def _sources(folder: Path) -> list[tuple[ModelSource, list[Load]]]:
    by_file = [
        (model_source_of(str(folder / file)), [each for each in LOADS if each.file == file])
        for file in ("model.keras", "model.h5")
    ]
    text = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    compiled = json.dumps(text.pop("compile_config"))
    as_keras_does = ModelSource(config=json.dumps(text), compile_config=compiled)
    own = [each for each in LOADS if each.way == "recompiled"]
    by_file[1] = (by_file[1][0], [each for each in by_file[1][1] if each not in own])
    return [*by_file, (as_keras_does, own)]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS)
