"""Each piece of Python that README and guide show does what it says when it is run.

Python in sentences is not run: it parses, and it names what there is.
"""

import ast
import functools
import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import kmonitor_agent
from tests.support.guide_code import Shown, python_blocks, python_in_sentences
from tests.support.live_hub import LiveHub
from tests.support.running_tests import LONG
from tests.support.waiting import DEADLINE_S

pytestmark = LONG

_ROOT = Path(__file__).parents[2]
_STUDIES = {"run_folds", "cross_validate", "Hyperband", "in_processes"}
"""Calls that start a separate process for each model."""

_USERS_OWN = """
import keras
import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from kmonitor_agent import MonitorCallback, run_folds

x, x_val = np.random.rand(40, 4).astype("float32"), np.random.rand(8, 4).astype("float32")
y, y_val = np.arange(40) % 2, np.arange(8) % 2
folds = range(2)

def make_model(*_):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model

def train_fold(fold):
    return fold.index

build = build_model = make_model
"""
"""Things that a reader has: data, a model, a function for a fold."""

_FINDS = {
    "restore(": """
model = make_model()
monitor = MonitorCallback(checkpoint_dir=".")
monitor.request("save", at="epoch")
model.fit(x, y, callbacks=[monitor], verbose=0)
import pathlib, shutil
shutil.copy(next(pathlib.Path(".").rglob("*.h5")), "000003-fit1-epoch9-step0.h5")
""",
    "study.optimize(": """
import optuna

study = optuna.create_study()
loss = 0.5
""",
    "model.fit(": """
model = make_model()
""",
    "kmonitor_agent.fit(": """
model = make_model()
monitor = MonitorCallback()
""",
    "memory_map(": """
model = make_model()
""",
}
"""Code that must run before a piece that holds these words."""

_SHORTER = {
    "epochs=50": "epochs=1",
    "epochs=100": "epochs=1",
    "max_epochs=30": "max_epochs=2",
    "n_trials=20": "n_trials=1",
    '{"epochs": 20}': '{"epochs": 1}',
    '"/shared/my-study"': '"my-study"',
    "\n    ...\n": "\n",
    '"tcp://gpu-01:5577?key=..."': f'"tcp://gpu-01:5577?key={"ab" * 32}"',
    'keras.callbacks.TensorBoard("board")': "keras.callbacks.History()",
}
"""The same in seconds, in this test's own folder, and without a package that is not installed."""


_OBJECTS = {"monitor": kmonitor_agent.MonitorCallback, "fold": kmonitor_agent.Fold}
"""Classes of the objects of ours that sentences call by these names."""

_OTHERS = {
    "Dataset": "of tf.data",
    "GroupKFold": "of scikit-learn",
    "InProcesses": "of kmonitor.integrations, which needs KerasTuner; a block imports it",
    "K": "Keras' backend",
    "KFold": "of scikit-learn",
    "StratifiedKFold": "of scikit-learn",
    "TensorBoard": "of Keras",
    "cache": "of tf.data.Dataset",
    "clear_session": "of Keras",
    "compile": "of a Keras model",
    "deque": "of Python's collections",
    "float": "of Python",
    "functools": "of Python",
    "gc": "of Python",
    "keras": "a package",
    "load_model": "of Keras",
    "logging": "of Python",
    "model": "the user's own",
    "np": "NumPy",
    "plt": "of Matplotlib",
    "ray": "a package",
    "request": "of MonitorCallback",
    "strategy": "of TensorFlow",
    "study": "of Optuna",
    "tf": "a package",
    "tf_keras": "a package",
    "train_fold": "the user's own",
    "tuner": "of KerasTuner",
}
"""First names in sentences that are not in kmonitor_agent, and where they are from."""

_NO_PYTHON = {"try: model.fit(...) except KeyboardInterrupt: ...": "three lines, written as one"}
"""Snippets that do not parse, with the reason."""

_ALONE = "another-agent.md"
"""Its piece is a separate program, which needs nothing of ours."""


def _is_study(shown: Shown) -> bool:
    return any(word in shown.code for word in _STUDIES)


@pytest.mark.keras
@pytest.mark.sklearn
@pytest.mark.slow
def test_the_pieces_around_one_training_run(tmp_path: Path):
    pieces = [
        each
        for each in python_blocks()
        if not _is_study(each) and "/" not in each.page and each.page != _ALONE
    ]

    assert len(pieces) > 5
    _runs("\n".join(_whole(each) for each in pieces), tmp_path)


@pytest.mark.keras
@pytest.mark.sklearn
@pytest.mark.keras_tuner
@pytest.mark.optuna
@pytest.mark.ray
@pytest.mark.full
@pytest.mark.parametrize(
    "shown",
    [each for each in python_blocks() if _is_study(each) and "/" not in each.page],
    ids=lambda each: f"{each.page}-{each.number}",
)
def test_the_pieces_that_start_processes_run(shown: Shown, tmp_path: Path):
    guard = 'if __name__ == "__main__":\n'
    code = _whole(shown)
    if guard not in code:
        lines = code.splitlines()
        # Lines that a reader types at the end of a script belong under its guard.
        first = next(n for n, line in enumerate(lines) if _starts(line))
        code = "\n".join([*lines[:first], guard, *(f"    {line}" for line in lines[first:])])

    _runs(code, tmp_path)


@pytest.mark.parametrize(("page", "code"), python_in_sentences(), ids=lambda part: part)
def test_python_in_a_sentence_names_what_exists(page: str, code: str):
    if code in _NO_PYTHON:
        return
    tree = ast.parse(code.removesuffix(":") + ": ..." if _is_compound(code) else code)
    first = _first_name(tree)
    names = {*vars(kmonitor_agent), *dir(kmonitor_agent), "kmonitor_agent", *_OBJECTS, *_OTHERS}

    assert first in names, f"{page}: {code}"
    _check_calls_of_ours(tree)


def test_names_of_others_are_in_sentences():
    shown = {code for _, code in python_in_sentences()}
    parsed = [ast.parse(code) for code in shown - set(_NO_PYTHON) if not _is_compound(code)]
    first = {_first_name(tree) for tree in parsed}

    assert set(_OTHERS) - {"InProcesses"} <= first
    assert set(_NO_PYTHON) <= shown


def test_the_agent_of_forty_lines_tells_a_hub_its_run(live_hub: LiveHub, tmp_path: Path):
    (shown,) = (each for each in python_blocks() if each.page == _ALONE)
    script = tmp_path / "agent.py"
    script.write_text(shown.code)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environ = {**os.environ, "KMONITOR_HOME": str(live_hub.folders.state), "PATH": path}

    subprocess.run([sys.executable, str(script)], env=environ, check=True, timeout=DEADLINE_S)

    with live_hub.client() as client:
        (run,) = client.runs()
        series = client.series(run.run, ["log:loss"])
    assert (run.name, run.state, run.epochs_done) == ("my own loop", "finished", 3)
    assert list(np.frombuffer(series.columns[0].values)) == [1.0, 0.5, 1 / 3]


def _is_compound(code: str) -> bool:
    return code.startswith(("class ", "if "))


def _first_name(tree: ast.Module) -> str:
    """The first name of a piece of Python; of a class, that of its first base."""
    match tree.body[0]:
        case ast.ClassDef(bases=[ast.Name(id=name), *_]):
            return name
        case _:
            return min(
                (each for each in ast.walk(tree) if isinstance(each, ast.Name)),
                key=lambda each: each.col_offset,
            ).id


def _check_calls_of_ours(tree: ast.Module) -> None:
    """Check that calls of our own functions name arguments that these take."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and (ours := _ours(call.func)) is not None:
            names = {keyword.arg or "": None for keyword in call.keywords}
            bound = inspect.signature(ours).bind_partial(*call.args, **names)
            assert not bound.arguments.get("unknown"), ast.unparse(call)


def _ours(called: ast.expr) -> Callable[..., object] | None:
    match called:
        case ast.Name(id="MonitorCallback"):
            return _without_self(kmonitor_agent.MonitorCallback, "__init__")
        case ast.Name(id=name) if name in dir(kmonitor_agent):
            return getattr(kmonitor_agent, name)
        case ast.Name(id="request"):
            return _without_self(kmonitor_agent.MonitorCallback, "request")
        case ast.Attribute(value=ast.Name(id="kmonitor_agent"), attr=name):
            return getattr(kmonitor_agent, name)
        case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in _OBJECTS:
            return _without_self(_OBJECTS[name], attribute)
        case _:
            return None


def _without_self(owner: type, name: str) -> Callable[..., object]:
    return functools.partial(getattr(owner, name), None)


def _starts(line: str) -> bool:
    return not line.startswith(" ") and any(f"{word}(" in line for word in _STUDIES)


def _whole(shown: Shown) -> str:
    before = [code for word, code in _FINDS.items() if word in shown.code]
    code = shown.code
    for long, short in _SHORTER.items():
        code = code.replace(long, short)
    return "\n".join([*before, code])


def _runs(code: str, folder: Path) -> None:
    script = folder / "script.py"
    script.write_text(_USERS_OWN + code)
    environ = {**os.environ, "KMONITOR_HOME": str(folder / "home"), "PYTHONPATH": str(_ROOT)}
    environ["KMONITOR_HUB"] = "off"
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=4 * DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, f"{done.stderr[-3000:]}\n--- of\n{code}"
