"""tf_keras in v1 graph mode: what a plain fit can do, and `kmonitor_agent.fit` to the bit."""

import functools
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.waiting import DEADLINE_S

pytestmark = [
    pytest.mark.keras,
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("tf_keras") is None, reason="tf_keras is not installed"
    ),
]

ROOT = Path(__file__).resolve().parents[3]
SCENARIOS = [
    "Adam, BatchNorm, shuffled",
    "momentum, ReduceLROnPlateau, EarlyStopping",
    "two outputs, own layer, lambda, sample weights",
    "stateful LSTM",
]
CASES = [(name, moments) for name in SCENARIOS for moments in ("once", "three times")]


@pytest.fixture(scope="session")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Output of the process with a name; each is run once."""
    home = str(tmp_path_factory.mktemp("v1"))

    @functools.cache
    def run(name: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "tests.frameworks.tf_keras.v1_training", name],
            cwd=ROOT,
            env={**os.environ, "KMONITOR_HOME": home, "TF_CPP_MIN_LOG_LEVEL": "3"},
            capture_output=True,
            text=True,
            timeout=4 * DEADLINE_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.mark.parametrize(("name", "moments"), [*CASES, ("rebuild=", "once")])
def test_a_training_that_was_rebuilt_ends_the_same(found: Any, name: str, moments: str) -> None:
    scenario = found("exact")[name]
    plain, rebuilt = scenario["plain"], scenario[moments]

    for what in ("history", "epochs", "state", "next numbers"):
        assert rebuilt[what] == plain[what], what
    assert rebuilt["records"] == [["reload", True, "rebuild", ""]] * len(rebuilt["records"])
    assert len(rebuilt["records"]) == (1 if moments == "once" else 3)


@pytest.mark.parametrize("name", SCENARIOS)
def test_callbacks_begin_and_end_once_and_the_graph_does_not_grow(found: Any, name: str) -> None:
    scenario = found("exact")[name]

    for moments in ("once", "three times"):
        assert scenario[moments]["calls"] == {"begin": 1, "end": 1}
        assert scenario[moments]["same history"]
    assert scenario["three times"]["operations"] == scenario["once"]["operations"]


def test_dropout_is_announced_as_not_exact(found: Any) -> None:
    ((_, ok, _, why),) = found("exact")["Dropout"]["once"]["records"]

    assert ok
    assert "not exact" in why
    assert "RandomUniform" in why


def test_a_plain_fit_saves_and_says_what_to_use_for_the_rest(found: Any) -> None:
    told = found("plain")

    assert [record[:2] for record in told["records"]] == [
        ["save", True],
        ["collect", False],
        ["reload", False],
    ]
    for why in (*(record[2] for record in told["records"][1:]), told["reload"], told["collect"]):
        assert "kmonitor_agent.fit(model, ...)" in why
    assert told["save"] == ""
    assert set(told["unavailable"]) == {"collect", "reload"}


def test_the_default_graph_is_counted_and_its_leak_seen(found: Any) -> None:
    told = found("plain")
    first, second, third = told["operations"]

    assert first < second < third == told["real"]
    assert second - first == third - second
    assert told["source"] == "tensorflow: operations of the v1 default graph"
    assert {"training", "dense", "loss", "mul"} <= set(told["names"])
    assert told["rate"] == pytest.approx(0.001)
    assert "v1 graph mode" in told["functions"]


def test_auto_that_was_asked_for_reloads_and_says_so(found: Any) -> None:
    told = found("auto")["asked"]

    assert told["records"] == [["reload", True, "rebuild", "auto", 1]]
    assert told["operations"][2] < told["operations"][1]
    assert told["state"] == found("auto")["plain"]


def test_a_record_tells_what_the_session_s_graph_held_before_and_after(found: Any) -> None:
    told = found("auto")["asked"]
    (printed,) = told["printed"]
    before, after = told["operations"][1:3]

    assert after < before
    made_anew = re.search(rf"graph {before} -> (\d+)\n", printed)
    assert made_anew is not None, printed
    # The script adds some before the epoch ends.
    assert 0 < int(made_anew[1]) <= after
    assert "functions" not in printed


def test_a_limit_with_auto_reloads_each_time_the_graph_has_grown(found: Any) -> None:
    told = found("auto")["helped"]

    assert told["records"][0] == ["reload", True, "rebuild", "auto", 2]
    assert told["operations"][3] < told["operations"][2] > 600
    assert "nothing_helps" not in told["notices"]
    assert told["state"] == found("auto")["plain"]


def test_a_limit_that_no_level_helps_is_told_and_reloads_once(found: Any) -> None:
    told = found("auto")["helpless"]

    assert told["records"] == [["reload", True, "rebuild", "auto", 0]]
    assert told["notices"].count("nothing_helps") == 1
    assert told["state"] == found("auto")["plain"]


def test_a_missing_private_name_is_said_at_the_call_and_costs_no_more(found: Any) -> None:
    for name, (refused, save) in found("hidden").items():
        assert "not available with tf_keras " in refused, name
        assert name in refused
        assert ("not available with tf_keras " in save) == (name == "get_value"), name


def test_what_a_script_set_for_its_session_stays_set(found: Any) -> None:
    told = found("settings")

    assert told["threads"] == 3
    assert told["is of the graph"]
    assert told["seed"] == 3
    assert told["next name"] not in told["names"]


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("tf.data", "use arrays, a Sequence or a generator"),
        ("tensor", "use arrays, a Sequence or a generator"),
        ("subclass", "use rebuild=make_model"),
        ("v1 optimizer", "use rebuild=make_model"),
        ("session", "set_session(session)"),
        ("graph", "with graph.as_default()"),
        ("rebuild differs", "different variables"),
        ("rebuild no function", "use rebuild=make_model, without ()"),
    ],
)
def test_what_cannot_be_rebuilt_is_refused_at_the_call(found: Any, what: str, words: str) -> None:
    assert words in found("refusals")[what]


def test_a_refusal_leaves_the_model_trainable(found: Any) -> None:
    assert found("refusals")["still trains"] == "[0]"
