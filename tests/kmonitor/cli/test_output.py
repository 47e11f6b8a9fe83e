"""Behaviour of a command when its own standard output takes nothing more."""

import os
import subprocess
import sys
from io import TextIOWrapper
from pathlib import Path

import pytest

from kmonitor.cli.main import main


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    ("arguments", "is_unbuffered"), [(["--help"], False), (["purge"], True), (["doctor"], True)]
)
def test_an_output_that_takes_nothing_is_one_line_and_a_failure(
    *,
    arguments: list[str],
    is_unbuffered: bool,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
):
    with Path("/dev/full").open("wb", buffering=0) as raw:
        full = TextIOWrapper(raw, write_through=is_unbuffered)
        monkeypatch.setattr(sys, "stdout", full)
        status = main(arguments)
    monkeypatch.undo()

    assert status == 1
    assert capfd.readouterr().err == (
        "kmonitor: cannot write to standard output: No space left on device.\n"
    )


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_command_without_standard_streams_does_its_work(closed: str):
    command = [sys.executable, "-m", "kmonitor", "--version"]
    words = ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *command]

    done = subprocess.run(words, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "arguments",
    [["map", "x" * 5000], ["report", "last", "--output", "x" * 5000]],
    ids=("map", "report"),
)
def test_a_path_that_no_system_takes_is_one_line_and_a_failure(
    arguments: list[str], kmonitor_home: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(arguments) == 1
    told = capsys.readouterr().err.splitlines()

    assert told
    assert all(len(line) < 400 for line in told)
    assert told[0].startswith("kmonitor: ")


@pytest.mark.parametrize("is_there", [True, False])
def test_a_reader_that_leaves_a_purge_is_no_fault_of_our_folders(
    *,
    is_there: bool,
    kmonitor_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
):
    log = kmonitor_home / "state" / "logs" / "hub.log"
    if is_there:
        log.parent.mkdir(parents=True)
        log.write_text("x")

    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as unread:
        monkeypatch.setattr(sys, "stdout", unread)
        status = main(["purge"])

    assert capfd.readouterr().err == ""
    assert status == 141
    assert log.exists() == is_there
