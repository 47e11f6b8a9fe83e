"""Folds on nodes that see neither the study's folder nor the script: all of it is carried."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from kmonitor.connect.hub_client import HubClient
from kmonitor_agent import run_folds
from kmonitor_agent.studies.ray import runner
from kmonitor_agent.studies.ray.messages import AttemptJob, StopOrder, encode_for_task
from tests.support import fold_functions as functions
from tests.support.fold_scripts import run_script
from tests.support.fold_trainings import EPOCHS, die_once, train_fold
from tests.support.live_hub import client, idle_hub, live_hub
from tests.support.ray_nodes import RayNodes, ray_nodes
from tests.support.waiting import wait_until

_FIXTURES = (client, idle_hub, live_hub, ray_nodes)

pytestmark = [pytest.mark.ray, pytest.mark.full, pytest.mark.usefixtures("ray_nodes", "far")]


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """To each node the study is on another host, and its folder is not to be seen."""

    def packed_far(message: AttemptJob | StopOrder) -> bytes:
        if isinstance(message, AttemptJob):
            message = msgspec.structs.replace(
                message, host="far", folder=str(tmp_path / "gone" / "study")
            )
        return encode_for_task(message)

    monkeypatch.setattr(runner, "encode_for_task", packed_far)


def test_values_files_and_output_come_back_and_nothing_stays_on_the_node(
    tmp_path: Path, ray_nodes: RayNodes
):
    pairs = [(np.arange(4), np.array([4, 5])), ([4, 5], [0])]

    study = run_folds(functions.told, folds=2, study=tmp_path / "study", on="ray")
    split = run_folds(functions.split, pairs, study=tmp_path / "split", on="ray")
    failed = run_folds(functions.fail, folds=1, study=tmp_path / "failed", on="ray")

    assert [each.value["index"] for each in study.results] == [0, 1]
    assert all((each.directory / "note").read_text() == "kept" for each in study.results)
    assert split.values == [(6, 9), (9, 0)]
    assert "no luck with fold 0" in failed.results[0].output.read_text()
    left = [each for each in (ray_nodes.home / "studies").rglob("*") if each.is_file()]
    assert not [each for each in left if "splits" not in each.parts]


@pytest.mark.keras
def test_trainings_equal_those_on_this_machine_and_are_seen_by_its_hub(
    tmp_path: Path, client: HubClient
):
    here = run_folds(train_fold, folds=2, study=tmp_path / "here")
    known = {each.run for each in client.runs()}

    there = run_folds(train_fold, folds=2, study=tmp_path / "there", on="ray")

    assert there.ok
    for ours, theirs in zip(there.values, here.values, strict=True):
        assert ours["loss"] == theirs["loss"]
        for one, other in zip(ours["weights"], theirs["weights"], strict=True):
            np.testing.assert_array_equal(one, other)

    def finished() -> bool:
        new = [each for each in client.runs() if each.run not in known and each.fold is not None]
        told = [(each.name.rpartition(" ")[2], each.state, each.epochs_done) for each in new]
        return sorted(told) == [(str(index), "finished", EPOCHS) for index in range(2)]

    wait_until(finished, what="the hub has both runs")


@pytest.mark.keras
def test_a_killed_training_goes_on_exactly_on_the_node_that_has_its_state(
    tmp_path: Path, client: HubClient
):
    whole = run_folds(die_once, folds=1, study=tmp_path / "whole", retries=0)
    assert [each.cause for each in whole.attempts] == ["killed"]

    study = run_folds(die_once, folds=1, study=tmp_path / "study", on="ray")
    again = run_folds(die_once, folds=1, study=tmp_path / "again")

    (result,) = study.results
    assert [each.cause for each in result.attempts] == ["killed", "finished"]
    assert result.attempts[1].resumed
    assert result.value["loss"] == again.values[0]["loss"]
    for one, other in zip(result.value["weights"], again.values[0]["weights"], strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_function_of_the_script_comes_along(
    tmp_path: Path, ray_nodes: RayNodes, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("RAY_ADDRESS", ray_nodes.address)

    ran = run_script(
        tmp_path,
        """
        from pathlib import Path
        from kmonitor_agent import run_folds

        def train_fold(fold):
            return fold.index * 10

        if __name__ == "__main__":
            Path(__file__).unlink()
            print(run_folds(train_fold, folds=2, study="study", on="ray").values)
        """,
    )

    assert ran.stdout.splitlines()[-1:] == ["[0, 10]"], ran.stderr
