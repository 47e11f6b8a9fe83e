"""Checks of `kmonitor doctor`."""

import importlib.metadata
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

import kmonitor
from kmonitor.base.errors import UserError
from kmonitor.cli.doctor import command
from kmonitor.cli.doctor.command import Finding, examine
from kmonitor.ui.text.language import has_chinese_font
from kmonitor_agent.wire.local import file_system
from kmonitor_agent.wire.local.folders import Folders, find_folders
from tests.support.made_up_runs import told_hub


@dataclass(frozen=True, slots=True)
class Usage:
    total: int
    free: int


@pytest.fixture
def mounts(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the machine have these mounts."""

    def put(*pairs: tuple[object, str]) -> None:
        found = [(str(path), kind) for path, kind in pairs]
        monkeypatch.setattr(file_system, "mounted", lambda: found)

    return put


def found_by(folders: Folders) -> dict[str, Finding]:
    return {finding.subject: finding for finding in examine(folders)}


def test_a_database_on_a_network_file_system_is_bad(mounts: Callable[..., None], folders: Folders):
    mounts(("/", "ext4"), (folders.state.parent, "nfs4"))

    finding = found_by(folders)["database disk"]

    assert finding.state == "bad"
    assert "nfs4" in finding.found
    assert "KMONITOR_HOME" in finding.remedy


@pytest.mark.parametrize(("has_one", "state"), [(True, "ok"), (False, "note")])
def test_a_machine_without_chinese_letters_is_told_which_package_has_them(
    *, has_one: bool, state: str, monkeypatch: pytest.MonkeyPatch, folders: Folders
):
    monkeypatch.setattr(command, "has_chinese_font", lambda: has_one)

    finding = found_by(folders)["fonts"]

    assert finding.state == state
    assert ("fonts-wqy-microhei" in finding.remedy) == (not has_one)
    assert ("boxes" in finding.found) == (not has_one)


def test_fontconfig_is_asked_for_chinese_letters():
    if (listing := shutil.which("fc-list")) is None:
        assert has_chinese_font() in {True, False, None}
        return
    told = subprocess.run([listing, ":lang=zh"], capture_output=True, check=True)
    assert has_chinese_font() is bool(told.stdout)


def test_a_home_on_a_network_is_told_with_where_its_database_is(
    mounts: Callable[..., None], tmp_path: Path
):
    mounts(("/", "ext4"), (tmp_path, "nfs4"))
    folders = find_folders({"KMONITOR_HOME": str(tmp_path)})

    found = found_by(folders)

    assert found["database disk"].state == "ok"
    assert found["network home"].state == "note"
    assert str(folders.database.parent) in found["network home"].found
    assert "nfs4" in found["spool disk"].found


def test_another_package_of_our_name_is_bad(monkeypatch: pytest.MonkeyPatch, folders: Folders):
    owners = {"kmonitor": ["kmonitor", "kmonitor-keras"]}
    monkeypatch.setattr(importlib.metadata, "packages_distributions", lambda: owners)

    finding = found_by(folders)["package names"]

    assert finding.state == "bad"
    assert "uninstall kmonitor\n" in finding.remedy


def test_a_hub_of_another_version_is_told_with_how_to_replace_it(
    monkeypatch: pytest.MonkeyPatch, folders: Folders
):
    told = msgspec.structs.replace(told_hub(), version="9.9.9")
    monkeypatch.setattr(command, "request_local_hub", lambda folders: told)

    finding = found_by(folders)["hub"]

    assert finding.state == "note"
    assert "9.9.9" in finding.found
    assert "kmonitor hub stop" in finding.remedy


def test_faults_of_a_hub_are_told_in_words(monkeypatch: pytest.MonkeyPatch, folders: Folders):
    told = msgspec.structs.replace(told_hub(), version=kmonitor.__version__)
    told = msgspec.structs.replace(told, faults={"view: store": 5, "retention": 1})
    monkeypatch.setattr(command, "request_local_hub", lambda folders: told)

    assert found_by(folders)["hub"].found.endswith("; faults: retention 1, view: store 5")


def test_a_hub_that_cannot_be_asked_is_bad_and_the_rest_is_still_examined(
    monkeypatch: pytest.MonkeyPatch, folders: Folders
):
    def refuse(folders: Folders) -> None:
        raise UserError("The hub refused the request: no.")

    monkeypatch.setattr(command, "request_local_hub", refuse)

    found = found_by(folders)

    assert found["hub"].state == "bad"
    assert found["spool"].state == "ok"


def test_a_state_folder_below_a_file_is_bad(tmp_path: Path, folders: Folders):
    folders.state.parent.mkdir(parents=True, exist_ok=True)
    folders.state.write_text("")

    assert found_by(folders)["state folder"].state == "bad"


@pytest.mark.parametrize("home", ["/proc/nope", "/etc/passwd", "/etc/passwd/below"])
def test_a_state_folder_that_cannot_be_made_is_bad_also_for_root(home: str):
    finding = found_by(find_folders({"KMONITOR_HOME": home}))["state folder"]

    assert finding.state == "bad"
    assert home in finding.found
    assert "KMONITOR_HOME" in finding.remedy


def test_a_folder_below_the_state_folder_that_cannot_be_written_is_named(folders: Folders):
    folders.state.mkdir(parents=True)
    folders.spool.symlink_to("/proc/sysvipc")

    finding = found_by(folders)["state folder"]

    assert finding.state == "bad"
    assert str(folders.spool) in finding.found


@pytest.mark.parametrize(
    ("free", "state"), [(0, "bad"), (500 * 2**20, "note"), (50 * 2**30, "ok")]
)
def test_little_room_on_the_disk_is_told(
    monkeypatch: pytest.MonkeyPatch, folders: Folders, free: int, state: str
):
    monkeypatch.setattr(command.shutil, "disk_usage", lambda _: Usage(60 * 2**30, free))

    finding = found_by(folders)["free space"]

    assert finding.state == state
    assert ("free some" in finding.remedy) == (state != "ok")


def test_what_waits_in_the_spool_is_counted_by_run(folders: Folders):
    for run in ("one", "two"):
        (folders.spool / run).mkdir(parents=True)
        (folders.spool / run / "x.events").write_bytes(b"12345")

    assert "10 B of 2 runs" in found_by(folders)["spool"].found


def test_nothing_is_made_by_looking(folders: Folders):
    assert found_by(folders)

    assert not folders.state.exists()
    assert list(folders.state.parent.iterdir()) == []
