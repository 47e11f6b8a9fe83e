"""Every file of ours below one home, sockets where their path fits."""

import os
import socket
import tempfile
from pathlib import Path

import pytest

from kmonitor_agent.wire.local import file_system
from kmonitor_agent.wire.local import folders as module
from kmonitor_agent.wire.local.clock import SystemClock
from kmonitor_agent.wire.local.folders import SOCKET_PATH_LIMIT_BYTES, find_folders
from kmonitor_agent.wire.local.hub_address import ingest_socket_path, view_socket_path


def test_a_named_home_holds_everything(tmp_path: Path):
    found = find_folders({"KMONITOR_HOME": "/k"})

    assert found.state == Path("/k")
    places = (found.runtime, found.database, found.spool, found.checkpoints, found.logs)
    assert all(place.parent == Path("/k") for place in (*places, found.settings))
    assert find_folders({"KMONITOR_HOME": str(tmp_path)}).state == tmp_path


def test_the_environment_is_read_when_none_is_given(kmonitor_home: Path):
    assert find_folders().state == kmonitor_home


def test_sockets_of_a_deep_home_lie_in_the_temporary_folder():
    deep = find_folders({"KMONITOR_HOME": "/" + "x" * 120})
    other = find_folders({"KMONITOR_HOME": "/" + "y" * 120})

    assert deep.runtime.parent == Path(tempfile.gettempdir())
    assert deep.runtime != other.runtime
    for path in (ingest_socket_path(deep), view_socket_path(deep)):
        assert len(os.fsencode(path)) <= SOCKET_PATH_LIMIT_BYTES


def test_a_runtime_folder_that_ends_with_the_login_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    environ = {"XDG_RUNTIME_DIR": str(tmp_path)}

    monkeypatch.setattr(module, "_lingers", lambda: False)
    passing = find_folders(environ).runtime
    monkeypatch.setattr(module, "_lingers", lambda: True)
    lasting = find_folders(environ).runtime

    assert passing == Path(tempfile.gettempdir()) / f"kmonitor-{os.getuid()}"
    assert lasting == tmp_path / "kmonitor"


def on_a_network(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    mounts = [("/", "ext4"), (str(place), "nfs4")]
    monkeypatch.setattr(file_system, "mounted", lambda: mounts)


def test_of_a_home_on_a_network_only_what_can_lie_there_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    on_a_network(monkeypatch, tmp_path)
    found = find_folders({"KMONITOR_HOME": str(tmp_path)})
    other = find_folders({"KMONITOR_HOME": str(tmp_path / "other")})

    for place in (found.runtime, found.database):
        assert tmp_path not in place.parents
    assert found.spool == tmp_path / "spool" / socket.gethostname()
    assert (found.checkpoints, found.settings) == (tmp_path / "checkpoints", tmp_path / "settings")
    assert found.database != other.database


def test_the_usual_home_on_a_network_is_split_likewise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    on_a_network(monkeypatch, tmp_path)
    monkeypatch.setattr(
        module.platformdirs, "user_state_dir", lambda *_, **__: str(tmp_path / "k")
    )
    found = find_folders({})

    assert tmp_path not in found.database.parents
    assert found.runtime == find_folders({}).runtime


def test_spools_of_a_shared_folder_are_kept_apart_by_host_job_and_rank(tmp_path: Path):
    environ = {"KMONITOR_HOME": str(tmp_path / "home"), "KMONITOR_SPOOL": str(tmp_path / "shared")}
    job = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": "1", "SLURM_NTASKS": "2"}
    plain, ranked = find_folders(environ), find_folders({**environ, **job})

    assert plain.spool.parent == ranked.spool.parent == tmp_path / "shared"
    assert plain.spool.name.endswith(f"@{socket.gethostname()}")
    assert ranked.spool.name == f"{plain.spool.name}.slurm-7.rank-1"
    assert plain.database == tmp_path / "home" / "database"


def test_a_job_finds_the_lasting_runtime_folder_without_its_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(module, "_lingers", lambda: True)
    monkeypatch.setattr(module, "_RUNTIMES", tmp_path)
    (tmp_path / str(os.getuid())).mkdir()

    assert find_folders({}).runtime == tmp_path / str(os.getuid()) / "kmonitor"


def test_where_there_are_no_user_ids_a_folder_has_the_users_name(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(os, "getuid")
    monkeypatch.setenv("USERNAME", "Ada L")
    monkeypatch.setattr(module, "_lingers", lambda: False)

    assert find_folders({}).runtime.name == "kmonitor-Ada_L"


def test_the_system_clock_goes_forward():
    clock = SystemClock()

    assert clock.monotonic_s() <= clock.monotonic_s()
    assert clock.wall_s() > 1.7e9
