"""The desktop's menu: an entry that opens this installation, put there and taken away."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kmonitor.base.installation import resource_path
from kmonitor.cli.common.desktop_entry import (
    entry_path,
    entry_text,
    installed_files,
    window_command,
)
from kmonitor.cli.main import main
from kmonitor.cli.purge import find_own_files
from kmonitor_agent.wire.local.folders import find_folders

pytestmark = [pytest.mark.gui, pytest.mark.skipif(sys.platform != "linux", reason="of Linux")]

PNG_SIZE = slice(16, 24)
"""Bytes of a PNG with its width and height. Source: PNG specification, IHDR."""


@pytest.fixture(autouse=True)
def share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of a user who did not say KMONITOR_HOME."""
    for name in ("KMONITOR_HOME", "KMONITOR_SPOOL", "SUDO_USER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    return tmp_path / "share"


def fields_of(text: str) -> dict[str, str]:
    first, *lines = text.splitlines()
    assert first == "[Desktop Entry]"
    return dict(line.split("=", 1) for line in lines)


def test_the_entry_opens_this_installation(share: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["--install-desktop-entry"]) == 0

    entry = share / "applications" / "kmonitor.desktop"
    fields = fields_of(entry.read_text(encoding="utf-8"))
    command = shlex.split(fields["Exec"])
    told = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert told.stdout.startswith("kmonitor ")
    assert fields["TryExec"] == sys.executable
    said = capsys.readouterr().out
    assert str(entry) in said
    assert "kmonitor --remove-desktop-entry" in said


def test_icons_come_in_the_sizes_that_their_folders_say(share: Path):
    main(["--install-desktop-entry"])

    theme = share / "icons" / "hicolor"
    sizes = {path.parents[1].name for path in theme.glob("*/apps/kmonitor.*")}
    assert sizes == {"scalable", *(f"{n}x{n}" for n in (16, 24, 32, 48, 64, 128, 256))}
    for path in theme.glob("*x*/apps/kmonitor.png"):
        n = int(path.parents[1].name.partition("x")[0])
        assert path.read_bytes()[PNG_SIZE] == n.to_bytes(4, "big") * 2


def test_a_second_time_changes_nothing_and_removing_leaves_nothing(
    share: Path, capsys: pytest.CaptureFixture[str]
):
    main(["--install-desktop-entry"])
    first = {path: path.read_bytes() for path in share.rglob("*") if path.is_file()}

    assert main(["--install-desktop-entry"]) == 0
    assert {path: path.read_bytes() for path in share.rglob("*") if path.is_file()} == first
    assert sorted(first) == sorted(installed_files())

    assert main(["--remove-desktop-entry"]) == 0
    assert not [path for path in share.rglob("*") if path.is_file()]
    capsys.readouterr()
    assert main(["--remove-desktop-entry"]) == 0
    assert "Nothing to remove" in capsys.readouterr().out


def test_others_entries_and_icons_stay(share: Path):
    main(["--install-desktop-entry"])
    other = share / "applications" / "other.desktop"
    other.write_text("[Desktop Entry]\n")

    main(["--remove-desktop-entry"])

    assert other.is_file()


def test_a_home_of_its_own_is_passed_on_whatever_its_name():
    text = entry_text(["/a b/kmonitor"], {"KMONITOR_HOME": '/x y/%c "$`\\'})
    fields = fields_of(text)

    # Read as the specification says: escapes of a string, quotes as a shell has them, codes.
    line = fields["Exec"].replace("\\\\", "\\")
    words = subprocess.run(
        ["/bin/sh", "-c", f"printf '%s\\n' {line}"], capture_output=True, text=True, check=True
    ).stdout
    assert words.replace("%%", "%").splitlines() == [
        "/usr/bin/env",
        'KMONITOR_HOME=/x y/%c "$`\\',
        "/a b/kmonitor",
    ]
    assert fields["TryExec"] == "/a b/kmonitor"


def test_sudo_is_refused_since_the_menu_would_be_roots(
    share: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_USER", "ada")

    assert main(["--install-desktop-entry"]) == 1

    assert "not ada's" in capsys.readouterr().err
    assert not share.exists()


def test_what_cannot_be_written_is_named(share: Path, capsys: pytest.CaptureFixture[str]):
    share.parent.mkdir(exist_ok=True)
    share.write_text("a file where a folder should be")

    assert main(["--install-desktop-entry"]) == 1

    assert "cannot be written" in capsys.readouterr().err


def test_a_packed_app_names_itself(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)

    assert window_command() == [sys.executable]


def test_purge_removes_only_the_entry_of_its_own_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("KMONITOR_HOME", str(tmp_path / "a b"))
    main(["--install-desktop-entry"])

    assert set(installed_files()) <= set(find_own_files(find_folders()).ours)
    monkeypatch.setenv("KMONITOR_HOME", str(tmp_path / "other"))
    assert not set(installed_files()) & set(find_own_files(find_folders()).ours)
    monkeypatch.delenv("KMONITOR_HOME")
    assert not set(installed_files()) & set(find_own_files(find_folders()).ours)


@pytest.mark.skipif(
    not shutil.which("desktop-file-validate"), reason="desktop-file-utils is not here"
)
def test_the_desktops_own_tool_finds_nothing_wrong():
    main(["--install-desktop-entry"])
    for entry in (entry_path(), resource_path("desktop", "kmonitor.desktop")):
        told = subprocess.run(
            [shutil.which("desktop-file-validate") or "", str(entry)],
            capture_output=True,
            text=True,
            check=False,
        )

        assert (told.returncode, told.stdout) == (0, "")
