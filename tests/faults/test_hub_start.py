"""A hub in an absurd environment continues, or ends with one clear sentence."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kmonitor.hub.service import EXIT_REFUSED
from kmonitor_agent.wire.local.folders import Folders
from tests.support.live_hub import LiveHub
from tests.support.running_tests import LONG
from tests.support.source_tree import ROOT
from tests.support.waiting import DEADLINE_S

pytestmark = [pytest.mark.slow, LONG]

HUB = (sys.executable, "-m", "kmonitor.hub", "--idle-s", "0.1")


@pytest.mark.parametrize(
    "extent", ["one error a call", pytest.param("all", marks=pytest.mark.full)]
)
def test_whatever_call_of_its_start_fails_a_hub_goes_on_or_says_why(tmp_path: Path, extent: str):
    words = [sys.executable, "-m", "tests.support.hub_start_faults", str(tmp_path), extent]
    told = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    ended = [json.loads(line) for line in told.splitlines()]

    wrong = [each for each in ended if not is_fine(each["status"], each["said"])]

    assert len(ended) >= 30
    assert {each["status"] for each in ended} >= {0, EXIT_REFUSED}, "faults must be met"
    assert wrong == []


def is_fine(status: int | None, said: str) -> bool:
    """True if a hub ended as requested, or refused with one sentence and a remedy."""
    if "Traceback" in said:
        return False
    return status == 0 or (
        status == EXIT_REFUSED
        and said.startswith("kmonitor hub: ")
        and said.count("\n") == 1
        and said.endswith(".\n")
    )


def started(folders: Folders, *options: str, after: str = ":") -> str:
    """Output of a hub that ends on its own, done or refused; a shell did `after` first."""
    done = subprocess.run(
        ["/bin/sh", "-c", f'{after}; exec "$@"', "sh", *HUB, *options],
        env=os.environ | {"KMONITOR_HOME": str(folders.state)},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert is_fine(done.returncode, done.stderr), (done.returncode, done.stderr)
    return done.stderr


@pytest.mark.parametrize("n", [8, 16, 24, 40, 64])
def test_without_descriptors_it_does_not_start(folders: Folders, n: int):
    said = started(folders, after=f"ulimit -n {n}")

    assert "file descriptors are free" in said


@pytest.mark.parametrize("n_blocks", [0, 2, 16, 64])
def test_where_nothing_more_can_be_written_it_does_not_start(folders: Folders, n_blocks: int):
    assert str(folders.state) in started(folders, after=f"ulimit -f {n_blocks}")


@pytest.mark.parametrize(
    "option",
    ["--bind", pytest.param("--prometheus", marks=pytest.mark.prometheus_client)],
)
def test_a_port_that_is_taken_is_named(folders: Folders, option: str):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = started(folders, option, f"127.0.0.1:{port}")

    assert f"127.0.0.1:{port}" in said
    assert "in use" in said


@pytest.mark.parametrize("written", ["nan", "inf", "-1", "1e12", "x"])
def test_an_absurd_time_to_be_idle_is_refused(folders: Folders, written: str):
    done = subprocess.run([*HUB[:-1], written], capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert written in done.stderr


def test_a_folder_to_show_that_is_none_is_named(folders: Folders, tmp_path: Path):
    file = tmp_path / "file"
    file.touch()

    assert f"{file} is not a folder" in started(folders, "--folder", str(file))


@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-"])
def test_without_standard_streams_it_serves(folders: Folders, closed: str):
    started(folders, after=f"exec {closed}")

    assert "hub ended (stopped)" in (folders.logs / "hub.log").read_text()


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_a_list_of_keys_of_another_user_lets_nobody_in_and_says_so(idle_hub: LiveHub):
    keys = idle_hub.folders.state / "keys"
    keys.mkdir(mode=0o700, parents=True)
    (keys / "authorized.json").write_text("{}")
    os.chown(keys / "authorized.json", 65534, 65534)

    idle_hub.start("--bind", "127.0.0.1:0")

    assert "No key can connect" in (idle_hub.folders.logs / "hub.log").read_text()
