"""Ways of loading that are measured, and the one that is recommended."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("h5py", reason="comes with Keras")

from kmonitor.base.errors import UserError
from kmonitor.memory.model_files import load_cost
from kmonitor.memory.model_files.description import ModelSource
from kmonitor.memory.model_files.load_cost import (
    LoadCost,
    loading_methods,
    measure,
    possible_methods,
    recommend,
)
from tests.support.model_files import CONFIG, write_archive

ANSWERS = {
    "compiled": {"peak_bytes": 900, "resident_bytes": 400, "optimizer": "whole"},
    "uncompiled": {"peak_bytes": 300, "resident_bytes": 200},
    "weights": {"peak_bytes": 400, "resident_bytes": 200},
    "recompiled": {"peak_bytes": 700, "resident_bytes": 400, "optimizer": "whole"},
    "built": {"peak_bytes": 100, "resident_bytes": 100},
}


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ways in the order in which processes were started; each answers without one."""
    order: list[str] = []

    def answer(_code: str, asked: dict[str, str], kind: type, *_: object) -> Any:
        order.append(asked["mode"])
        found = ANSWERS[asked["mode"]]
        return kind(**{**found, "peak_bytes": found["peak_bytes"] + len(order)})

    monkeypatch.setattr(load_cost, "answer_of", answer)
    return order


def test_ways_take_turns_forth_and_back(tried: list[str]):
    costs = measure(Path("m.keras"), ModelSource(), ["compiled", "weights"], repeats=3)

    assert tried == ["compiled", "weights", "weights", "compiled", "compiled", "weights"]
    assert [(each.loading_method, each.repeats) for each in costs] == [
        ("compiled", 3),
        ("weights", 3),
    ]
    assert [each.peak_bytes for each in costs] == [904, 403]


def test_the_least_peak_is_recommended_for_each_purpose(tried: list[str]):
    del tried
    costs = measure(
        Path("m.keras"),
        ModelSource(),
        list(loading_methods(Path("m.keras"), has_architecture=True)),
        repeats=1,
    )

    found = recommend(costs)

    assert (found.predict, found.train) == ("uncompiled", "recompiled")


def test_where_no_way_brings_the_optimizer_back_none_is_recommended_to_train():
    found = recommend([LoadCost("uncompiled", peak_bytes=3), LoadCost("compiled", error="x")])

    assert (found.predict, found.train) == ("uncompiled", None)


def test_a_way_that_fails_is_not_tried_again_and_says_why(monkeypatch: pytest.MonkeyPatch):
    order: list[str] = []

    def answer(_code: str, asked: dict[str, str], kind: type, *_: object) -> Any:
        order.append(asked["mode"])
        if asked["mode"] == "weights":
            raise UserError("The process that loads the model ended: status -11")
        return kind(peak_bytes=1)

    monkeypatch.setattr(load_cost, "answer_of", answer)
    costs = measure(Path("m.keras"), ModelSource(), ["uncompiled", "weights"], repeats=3)

    assert order.count("weights") == 1
    assert "status -11" in costs[1].error


def test_where_no_way_works_that_is_an_error(monkeypatch: pytest.MonkeyPatch):
    def answer(_code: str, _asked: object, kind: type, *_: object) -> Any:
        return kind(error="TypeError: Could not locate class 'Gated'")

    monkeypatch.setattr(load_cost, "answer_of", answer)

    with pytest.raises(UserError, match="'Gated'") as told:
        measure(Path("m.keras"), ModelSource(), ["compiled"], repeats=2)
    assert "--custom" in told.value.remedy


def test_a_file_is_looked_through_before_any_process_is_started(tmp_path: Path):
    whole = write_archive(tmp_path / "m.keras")
    damaged = write_archive(tmp_path / "d.keras", weights=bytes(1000))
    architecture = tmp_path / "m.json"
    architecture.write_text(json.dumps(CONFIG), encoding="utf-8")

    assert len(possible_methods(whole)) == 5
    with pytest.raises(UserError, match="not an HDF5 file"):
        possible_methods(damaged)
    with pytest.raises(UserError, match="no weights to load"):
        possible_methods(architecture)


def test_weights_alone_have_fewer_ways():
    assert loading_methods(Path("m.weights.h5"), has_architecture=False) == ("weights", "built")
    assert len(loading_methods(Path("m.h5"), has_architecture=True)) == 5


def test_memory_is_the_median_and_time_the_least(monkeypatch: pytest.MonkeyPatch):
    answers = iter([_told(30, 3.0), _told(10, 5.0), _told(20, 4.0)])
    monkeypatch.setattr(load_cost, "answer_of", lambda *_: next(answers))

    [cost] = load_cost.measure(Path("m.keras"), ModelSource(), ["built"], repeats=3)

    assert (cost.peak_bytes, cost.resident_bytes, cost.seconds) == (20, 20, 3.0)


def _told(n_bytes: int, seconds: float) -> Any:
    return load_cost.LoadCostReply(peak_bytes=n_bytes, resident_bytes=n_bytes, seconds=seconds)
