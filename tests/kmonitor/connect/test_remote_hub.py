"""The line that finds kmonitor on a host, run by the shells that are here; no ssh yet."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kmonitor.connect.host_errors import HostError
from kmonitor.connect.remote_hub import BadCommand, ensure_command_line, read_answer
from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.local.interpreter_record import (
    InterpreterRecord,
    interpreter_record_path,
    write_interpreter_record,
)
from tests.support.waiting import DEADLINE_S

ANSWER = {
    "socket": "/run/view.sock",
    "version": "0.1.0",
    "pid": 7,
    "host": "gpu-01",
    "hub": "h",
    "python": "/opt/python",
    "protocol": [1, 1],
}

SHELLS = [name for name in ("sh", "bash", "dash", "zsh", "fish", "csh") if shutil.which(name)]


class There:
    """A home on a host, with the programs that a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home dir"
        self.bin = folder / "bin"
        self.home.mkdir()
        self.bin.mkdir()

    def program(self, path: Path, answer: str | None, status: int = 0) -> str:
        path.parent.mkdir(parents=True, exist_ok=True)
        told = f"cat <<'EOF'\n{answer}\nEOF\n" if answer is not None else ""
        path.write_text(f"#!/bin/sh\n{told}exit {status}\n")
        path.chmod(0o755)
        return str(path)

    def script(self, name: str, body: str) -> None:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def launcher(self, python: str) -> None:
        folders = find_folders({"KMONITOR_HOME": str(self.home / ".local/state/kmonitor")})
        write_interpreter_record(
            folders, InterpreterRecord(python, "0.1.0", os.uname().nodename, wall_s=1.0)
        )

    def ask(self, command: str = "", shell: str = "sh") -> Any:
        done = subprocess.run(
            [shell, "-c", ensure_command_line(command)],
            env={"HOME": str(self.home), "PATH": f"{self.bin}:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
            timeout=DEADLINE_S,
        )
        return read_answer("gpu-01", done.returncode, done.stdout, done.stderr)


@pytest.fixture
def there(tmp_path: Path) -> There:
    return There(tmp_path)


def answer(**changed: object) -> str:
    return json.dumps({**ANSWER, **changed})


@pytest.mark.parametrize("shell", SHELLS)
def test_the_last_trainings_interpreter_is_tried_first(there: There, shell: str):
    there.launcher(there.program(there.home / "venv x" / "python", answer(version="1")))
    there.program(there.bin / "kmonitor", answer(version="2"))

    found = there.ask(shell=shell)

    assert (found.found_by, found.version) == ("launcher", "1")
    assert (found.socket, found.pid, found.protocol) == ("/run/view.sock", 7, (1, 1))


def test_then_path_and_what_pip_installed_for_the_user(there: There):
    there.launcher(there.program(there.home / "gone", None, status=1))
    there.program(there.home / ".local" / "bin" / "kmonitor", "noise of a shell\n" + answer())

    assert there.ask().found_by == "path"


def test_then_the_remembered_command(there: There):
    there.program(there.bin / "kmonitor", "a program of that name for Kubernetes", status=1)
    command = there.program(there.home.parent / "opt" / "kmonitor", answer())

    assert there.ask(f"{command} ").found_by == "command"


def test_where_nothing_is_found_it_says_what_was_tried(there: There):
    there.launcher(there.program(there.home / "python", None, status=1))

    with pytest.raises(HostError) as caught:
        there.ask(f"{there.home}/gone/kmonitor")

    assert caught.value.code == "no_kmonitor"
    assert not caught.value.is_transient
    assert "-m kmonitor: exit status 1" in caught.value.what
    assert "PATH of a login shell (none)" in caught.value.what
    assert f"{there.home}/gone/kmonitor: exit status 127" in caught.value.what
    assert "pip install" in caught.value.remedy
    assert "kmonitor hosts add gpu-01 --command" in caught.value.remedy


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (
            '{"python":"HOME/gone/python"}',
            "last training run there (HOME/gone/python: it no longer",
        ),
        ("{broken", "the record is damaged"),
    ],
)
def test_a_record_that_leads_nowhere_is_named_too(there: There, record: str, words: str):
    folders = find_folders({"KMONITOR_HOME": str(there.home / ".local/state/kmonitor")})
    folders.state.mkdir(parents=True)
    interpreter_record_path(folders, os.uname().nodename).write_text(
        record.replace("HOME", str(there.home))
    )

    with pytest.raises(HostError) as caught:
        there.ask()

    assert words.replace("HOME", str(there.home)) in caught.value.what
    assert "PATH of a login shell (none)" in caught.value.what


@pytest.mark.skipif(not Path("/usr/bin/timeout").exists(), reason="no timeout program here")
def test_a_kmonitor_that_hangs_there_is_ended_and_the_next_place_is_tried(there: There):
    there.script(
        "timeout", 'shift; [ "$1" = kmonitor ] && exec /usr/bin/timeout 0.1 "$@"; exec "$@"'
    )
    there.script("kmonitor", "exec sleep 60")
    command = there.program(there.home.parent / "opt" / "kmonitor", answer())

    assert there.ask(command).found_by == "command"
    with pytest.raises(HostError, match="kmonitor there did not respond") as caught:
        there.ask()
    assert caught.value.is_transient


def test_a_record_of_another_host_serves_where_it_can_be_run(there: There):
    python = there.program(there.home / "python", answer())
    there.launcher(python)
    folders = find_folders({"KMONITOR_HOME": str(there.home / ".local/state/kmonitor")})
    interpreter_record_path(folders, os.uname().nodename).rename(
        interpreter_record_path(folders, "login-node")
    )

    assert there.ask().found_by == "launcher"


@pytest.mark.parametrize(
    ("told", "status", "code", "words"),
    [
        ('{"error":"disabled","what":"off","remedy":"on"}', 1, "disabled", "On gpu-01: off on"),
        ('{"error":"failed","what":"disk full."}', 1, "hub_failed", "disk full"),
        (answer(protocol=[0, 0], version="0.0.9"), 0, "too_old", "0.0.9 on gpu-01 is too old"),
        (answer(protocol=[2, 3], version="9.0"), 0, "too_new", "9.0 on gpu-01 is too new"),
        (answer(socket="relative"), 0, "hub_failed", "cannot forward"),
        ('{"error":7}', 1, "broken", "does not understand"),
        (None, 2, "too_old", "too old"),
    ],
)
def test_what_a_host_refuses_is_said_in_words(
    there: There, told: str | None, status: int, code: str, words: str
):
    there.program(there.bin / "kmonitor", told, status)

    with pytest.raises(HostError, match=words) as caught:
        there.ask()

    assert caught.value.code == code


def test_a_login_that_runs_no_command_is_not_called_one_without_kmonitor():
    with pytest.raises(HostError, match=r"exit status 1.*Its output: This account is") as caught:
        read_answer("gpu-01", 1, "This account is currently not available.\n", "")

    assert not caught.value.is_transient
    assert "kmonitor was not found" not in caught.value.what
    assert "ssh gpu-01 echo works" in caught.value.remedy


@pytest.mark.parametrize("command", ["a'b", 'a"b', "a!b", "a\\b", "a\nb", "$`id`", "-x"])
def test_commands_that_shells_read_differently_are_refused(command: str):
    with pytest.raises(BadCommand):
        ensure_command_line(command)
