"""From a job's folder to the terminal: inspected, shipped, pinned and pruned."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from kmonitor.cli.main import main
from kmonitor.connect.hub_client import HubClient
from kmonitor.connect.local_hub import stop_hub
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.spool.reader import spools_below
from tests.support.command_line import start_kmonitor
from tests.support.spooling import SpoolingProcess, spooling
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    return tmp_path / "shared"


@pytest.fixture
def job(shared: Path, folders: Folders) -> Iterator[SpoolingProcess]:
    """A living process of a job that has spooled its first samples."""
    environ = {"KMONITOR_SPOOL": str(shared), "SLURM_JOB_ID": "7", "SLURM_JOB_NAME": "train"}
    with spooling(environ) as process:
        process.tell("50")
        yield process
    stop_hub(folders)


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    capsys.readouterr()
    assert main([str(word) for word in arguments]) == 0
    return json.loads(capsys.readouterr().out)


def hubs_below_this_process() -> set[psutil.Process]:
    """Hubs that tests of this process have started and that have not ended."""
    return {each for each in psutil.Process().children() if "kmonitor.hub" in each.cmdline()}


def kinds(shown: Any) -> set[str]:
    return {event["type"] for event in shown["events"]}


def test_a_folder_is_looked_at_without_any_hub_of_ones_own(
    job: SpoolingProcess,
    shared: Path,
    folders: Folders,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    others = hubs_below_this_process()
    (run,) = said(capsys, "runs", "--json", "--folder", shared)
    before = sorted((p, p.stat().st_mtime_ns) for p in shared.rglob("*"))
    shown = said(capsys, "show", "last", "--json", "--folder", shared)
    report, table = tmp_path / "job.html", tmp_path / "job.csv"
    assert main(["report", "last", "--output", str(report), "--folder", str(shared)]) == 0
    assert main(["export", "last", "--output", str(table), "--folder", str(shared)]) == 0

    assert "job 7 \N{MIDDLE DOT} train" in report.read_text(encoding="utf-8")
    assert ",sample," in table.read_text(encoding="utf-8")
    assert (run["run"], run["name"]) == (job.run, "job 7 \N{MIDDLE DOT} train")
    assert (run["is_shipped"], run["actions"], run["state"]) == (True, [], "starting")
    assert "session" in kinds(shown)
    assert sorted((p, p.stat().st_mtime_ns) for p in shared.rglob("*")) == before
    assert not folders.database.exists()
    assert hubs_below_this_process() <= others


def test_a_job_is_shipped_pinned_pruned_and_its_spool_removed(
    job: SpoolingProcess, shared: Path, capsys: pytest.CaptureFixture[str]
):
    (alive,) = said(capsys, "ship", shared, "--json", "--delete-shipped")
    assert (alive["events"], alive["deleted"]) == (51, False)
    assert main(["command", "last", "save"]) == 1
    assert (
        "was read from a folder: commands cannot be sent to its process" in capsys.readouterr().err
    )
    job.tell("end")
    (ended,) = said(capsys, "ship", shared, "--json")
    assert (ended["events"], ended["deleted"]) == (1, False)
    (again,) = said(capsys, "ship", shared, "--json", "--delete-shipped")
    assert (again["events"], again["missing"], again["deleted"]) == (0, 0, True)
    assert spools_below(shared) == []

    (run,) = said(capsys, "runs", "--json")
    assert (run["run"], run["state"], run["gaps"]) == (job.run, "finished", 0)
    assert main(["runs", "pin", "last"]) == 0
    assert main(["runs", "prune", "--older-than", "0s", "--yes"]) == 0
    assert len(said(capsys, "runs", "--json")) == 1
    assert main(["runs", "unpin", "last"]) == 0
    assert main(["runs", "prune", "--older-than", "0s", "--dry-run"]) == 0
    assert len(said(capsys, "runs", "--json")) == 1
    assert main(["runs", "prune", "--older-than", "0s", "--yes"]) == 0
    assert said(capsys, "runs", "--json") == []
    done = [row["what"] for row in said(capsys, "audit", "--json")]
    assert done == ["pin", "unpin", "delete"]


@pytest.mark.full
def test_shipping_follows_runs_until_ctrl_c(
    job: SpoolingProcess, shared: Path, folders: Folders, capsys: pytest.CaptureFixture[str]
):
    with start_kmonitor("ship", shared, "--follow", "--json") as ship:
        assert ship.stdout is not None
        assert "shipping" in ship.stdout.readline()
        job.tell("30")
        with HubClient(folders=folders) as client:
            wait_until(lambda: client.runs()[0].step == 79, what="what came later")
        environ = {"KMONITOR_SPOOL": str(shared), "SLURM_JOB_ID": "8"}
        with spooling(environ) as other:
            other.tell("5")
            with HubClient(folders=folders) as client:
                wait_until(lambda: len(client.runs()) == 2, what="the run that came later")
        ship.send_signal(signal.SIGINT)
        told = json.loads(ship.stdout.read().splitlines()[-1])
        assert ship.wait(DEADLINE_S) == 130

    assert sorted(each["events"] for each in told) == [6, 81]
    assert [each["missing"] for each in told] == [0, 0]
    (newest, _) = said(capsys, "runs", "--json")
    assert newest["run"] == other.run


@pytest.mark.parametrize("place", ["missing", "empty", "file"])
def test_a_folder_without_spools_is_named_with_what_to_do(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")

    assert main(["ship", str(tmp_path / place)]) == 1
    assert "KMONITOR_SPOOL" in capsys.readouterr().err
    assert main(["runs", "--folder", str(tmp_path / place)]) == 1


def test_prune_wants_to_be_told_which(capsys: pytest.CaptureFixture[str]):
    assert main(["runs", "prune"]) == 2
    assert "--older-than" in capsys.readouterr().err
