"""A fit's state on disk that is damaged is not taken up."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kmonitor_agent.frameworks.base import StateVariable
from kmonitor_agent.reclaim.restart.fit_state import (
    CannotResume,
    FitState,
    FitStateStore,
    VariableFacts,
)
from tests.support.checkpoint_files import damaged_ways

pytest.importorskip("h5py", reason="comes with Keras")


@pytest.fixture
def states(tmp_path: Path) -> FitStateStore:
    value = np.arange(6.0)
    facts = (VariableFacts("model/kernel", "(6,)"),)
    state = FitState("run", 1, "epoch", "net", 4, 4, variables=facts, random={"numpy": value})
    states = FitStateStore(tmp_path)
    states.save(state, [StateVariable("model/kernel", value.nbytes, value)], lambda each: each)
    return states


def taken_up(states: FitStateStore) -> tuple[Any, ...]:
    saved = states.read(1)
    assert saved is not None
    state = saved.state
    return state.next_epoch, state.random["numpy"].tolist(), [v.tolist() for v in saved.values()]


def test_whole_state_is_taken_up(states: FitStateStore):
    values = list(range(6))

    assert taken_up(states) == (4, values, [values])


@pytest.mark.promise(8)
@pytest.mark.parametrize("pattern", ["fit-1/*.h5", "1.json"])
def test_damage_is_told_and_never_taken_up(states: FitStateStore, tmp_path: Path, pattern: str):
    (path,) = tmp_path.glob(pattern)
    whole = taken_up(states)
    told = 0

    for data in damaged_ways(path.read_bytes(), seed=3, flips=200):
        path.write_bytes(data)
        try:
            assert taken_up(states) == whole  # what JSON takes for the same
        except CannotResume:
            told += 1

    assert told > 200
