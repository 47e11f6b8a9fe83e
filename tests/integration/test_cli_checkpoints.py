"""`checkpoints` and `restore` as processes: what is listed, what is verified, what is refused."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag, VariableToStore
from kmonitor_agent.reclaim.checkpoints import CheckpointStore, export_path
from kmonitor_agent.wire.messages.commands import ReloadArguments, SaveArguments
from kmonitor_agent.wire.messages.events import FitStarted
from tests.support.checkpoint_files import damaged_ways
from tests.support.command_line import kmonitor
from tests.support.live_hub import LiveHub
from tests.support.running_tests import LONG
from tests.support.simulated_agent import SimulatedAgent

pytest.importorskip("h5py", reason="comes with Keras")

pytestmark = [pytest.mark.slow, LONG]


@pytest.fixture
def training(live_hub: LiveHub) -> Iterator[SimulatedAgent]:
    with SimulatedAgent(live_hub.folders, name="resnet") as agent:
        agent.start_fit()
        agent.wait_acked()
        yield agent


MAKING = "what it is made of"


def write(folder: Path, run: str, *, epoch: int, keep: int = 9, making: str = MAKING) -> Path:
    value = np.arange(1000, dtype="float32")
    stored = [VariableToStore("model/dense/kernel", value.nbytes, value)]
    store = CheckpointStore(folder, keep=keep)
    return store.save(
        stored, lambda each: each, tag=CheckpointTag(run, 1, epoch), architecture=making
    ).path


def test_checkpoints_of_a_run_are_listed_with_those_in_a_folder_that_its_script_named(
    training: SimulatedAgent, live_hub: LiveHub, tmp_path: Path
):
    own = write(live_hub.folders.checkpoints / training.run, training.run, epoch=0)
    named = write(tmp_path / "named", training.run, epoch=4)
    write(tmp_path / "named", "another", epoch=7)
    export_path(named).write_bytes(b"a model")
    folder = str(tmp_path / "named")
    training.emit(FitStarted(t_s=training.now_s(), fit=2, model="net", checkpoint_dir=folder))
    training.wait_acked()

    listed = kmonitor("checkpoints", "resnet", "--verify", "--json")
    shown = kmonitor("checkpoints", "last")

    assert listed.status == 0, listed.err
    found = [(each["path"], each["epoch"], each["export"], each["state"]) for each in listed.json]
    assert found == [
        (str(own), 0, "", "whole"),
        (str(named), 4, str(export_path(named)), "whole"),
    ]
    assert shown.status == 0, shown.err
    assert own.name in shown.out.replace("\n", "")
    assert "KiB" in shown.out


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (np.arange(1000, dtype="float32").tobytes(), "variable 0 has the wrong checksum"),
        (MAKING.encode(), "the description of the model has the wrong checksum"),
    ],
    ids=["values", "making"],
)
def test_damaged_checkpoint_is_found_when_it_is_looked_for(
    training: SimulatedAgent, live_hub: LiveHub, part: bytes, said: str
):
    path = write(live_hub.folders.checkpoints / training.run, training.run, epoch=0)
    data = bytearray(path.read_bytes())
    data[data.index(part) + 4] ^= 1
    path.write_bytes(bytes(data))

    assert kmonitor("checkpoints", "last", "--json").json[0]["state"] == ""
    verified = kmonitor("checkpoints", "last", "--verify")

    assert verified.status == 1
    assert f"damaged: {said}" in " ".join(verified.out.split())


def test_every_damage_is_told_and_none_ends_the_command(training: SimulatedAgent, tmp_path: Path):
    whole = write(tmp_path, training.run, epoch=0)
    ways = damaged_ways(whole.read_bytes(), seed=1, flips=200)
    for ordinal, data in enumerate(ways, start=2):
        (tmp_path / f"{ordinal:06d}-fit1-epoch3-step4.h5").write_bytes(data)

    verified = kmonitor("checkpoints", "last", "--dir", tmp_path, "--verify", "--json")

    assert verified.status == 1
    told = {each["path"]: each["state"] for each in verified.json}
    assert told.pop(str(whole)) == "whole"
    assert len(told) == len(ways)
    assert [state for state in told.values() if not state.startswith("damaged: ")] == []


def test_what_its_beginning_or_length_shows_is_told_without_being_asked(
    training: SimulatedAgent, tmp_path: Path
):
    write(tmp_path, training.run, epoch=0)
    cut, zeroed, renamed = (write(tmp_path, training.run, epoch=n) for n in (1, 2, 3))
    cut.write_bytes(cut.read_bytes()[:-2000])
    zeroed.write_bytes(bytes(4096) + zeroed.read_bytes()[4096:])
    renamed = renamed.rename(tmp_path / "best.h5")
    renamed.write_bytes(renamed.read_bytes()[:-2000])
    (tmp_path / "weights.h5").write_bytes(b"of another program")

    listed = kmonitor("checkpoints", "last", "--dir", tmp_path, "--json")
    shown = kmonitor("checkpoints", "last", "--dir", tmp_path)

    assert (listed.status, shown.status) == (1, 1)
    states = {Path(each["path"]).name: each["state"] for each in listed.json}
    assert sorted(states) == sorted(
        path.name for path in tmp_path.glob("*.h5") if path.name != "weights.h5"
    )
    assert " bytes" in states[cut.name]
    assert "does not start with the signature of" in states[zeroed.name]
    assert " bytes" in states[renamed.name]
    assert [each["epoch"] for each in listed.json if each["path"] == str(zeroed)] == [2]
    assert "damaged: " in shown.out


def test_run_without_a_checkpoint_says_how_to_have_one(training: SimulatedAgent):
    ran = kmonitor("checkpoints", "last")

    assert ran.status == 0, ran.err
    assert f"kmonitor command {training.run} save --wait" in ran.out


def test_how_to_reload_and_whether_to_export_are_asked_of_the_training(training: SimulatedAgent):
    asked = [
        kmonitor("command", "last", "reload", "--mode", "recreate", "--wait"),
        kmonitor("command", "last", "save", "--export", "--wait"),
    ]

    assert [ran.status for ran in asked] == [0, 0], [ran.err for ran in asked]
    commands = {command.id: command.args for command in training.commands}
    assert list(commands.values()) == [
        ReloadArguments(mode="recreate"),
        SaveArguments(export=True),
    ]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("command", "last", "save", "--mode", "assign"), 2, "--mode works only with reload"),
        (("command", "last", "reload", "--export"), 2, "--export works only with save"),
        (("restore", "no.h5", "--into", "model.keras"), 1, "File not found: no.h5"),
        (("restore", "no.h5", "--into", "model.h5"), 1, "model.h5 is not a .keras file"),
    ],
)
def test_what_does_not_go_together_is_explained(
    training: SimulatedAgent, words: tuple[str, ...], status: int, said: str
):
    ran = kmonitor(*words)

    assert ran.status == status
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert training.commands == []


@pytest.mark.keras
def test_checkpoint_that_says_nothing_of_its_model_says_what_to_do(tmp_path: Path):
    checkpoint = write(tmp_path, "run", epoch=0, making="")

    ran = kmonitor("restore", checkpoint, "--into", tmp_path / "model.keras")

    assert ran.status == 1
    assert "describes the model" in ran.err
    assert "--like" in ran.err
    assert not (tmp_path / "model.keras").exists()


def test_where_keras_is_missing_restore_says_where_to_run(tmp_path: Path):
    checkpoint = write(tmp_path, "run", epoch=0)

    ran = kmonitor(
        "restore", checkpoint, "--into", tmp_path / "model.keras", environ=_without(tmp_path)
    )

    assert ran.status == 1
    assert "Run this in the Python environment used for training" in ran.err
    assert "Traceback" not in ran.err


def _without(tmp_path: Path) -> dict[str, str]:
    """An environment in which `import keras` fails."""
    package = tmp_path / "broken" / "keras"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('no backend is installed')\n")
    return {"PYTHONPATH": str(package.parent)}
