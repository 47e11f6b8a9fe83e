"""Advice on parts of the time, as text."""

from typing import Any, Final

import pytest
from msgspec.structs import replace

from kmonitor.ui.verdicts.time_text import time_advice_text
from kmonitor.ui.verdicts.verdict_text import advice_of
from kmonitor_agent.wire.messages.events import CorrelatedGrowth, Verdict

VERDICT: Final = Verdict(
    t_s=0.0, metric="epoch_time", state="growing", per="epoch", units=9, unit=9
)
REPLAY: Final = CorrelatedGrowth("kept_bytes", 3.0e6, 2.0e6, 4.0e6, "__main__.replay")


@pytest.mark.parametrize("code", ["no_python_map", "no_from_generator", "more_workers"])
def test_forks_are_not_advised_with_jax(code: str):
    texts = [time_advice_text(code, VERDICT, backend) for backend in ("tensorflow", "jax")]

    assert ["use_multiprocessing" in each for each in texts] == [True, False]
    assert all("workers" in each for each in texts)


def test_workers_of_a_loader_are_spawned_with_jax():
    texts = [time_advice_text("loader_workers", VERDICT, each) for each in ("torch", "jax")]

    assert ["spawn" in each for each in texts] == [False, True]


def test_advice_on_slower_checkpoints_names_what_grows_along():
    verdict = replace(VERDICT, cause="part", where="checkpoints", advice=["save_less"])

    (advice,) = advice_of(replace(verdict, grew_with=[REPLAY]))

    assert "if __main__.replay is saved too" in advice.text


@pytest.mark.parametrize(
    ("changed", "advised"),
    [
        ({"name": "ModelCheckpoint"}, (True, False)),
        ({"name": "ModelCheckpoint", "since": 4}, (False, True)),
        ({"name": "ModelCheckpoint", "state": "steady"}, (False, True)),
        ({"name": "Packing", "state": "steady"}, (True, True)),
    ],
)
def test_advice_on_checkpoints_is_of_what_can_grow(
    changed: dict[str, Any], advised: tuple[bool, bool]
):
    text = time_advice_text("save_less", replace(VERDICT, **changed))

    assert ("fewer files" in text, "only the weights" in text) == advised


@pytest.mark.parametrize(("where", "code"), [("input", "more_workers"), ("callbacks", "each_nth")])
def test_place_that_grew_along_with_a_slower_part_is_to_be_limited(where: str, code: str):
    slower = replace(VERDICT, cause="part", where=where, advice=[code], grew_with=[REPLAY])

    (limit, _) = advice_of(slower)
    (other,) = advice_of(replace(slower, grew_with=[]))

    assert limit.text == "limit __main__.replay, which is growing, if it is used there"
    assert other.text == time_advice_text(code, slower)
