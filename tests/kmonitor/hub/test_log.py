"""Place of the hub's log: its own file, or the journal when systemd listens."""

import logging
import os
from pathlib import Path

import pytest

from kmonitor.hub import log
from kmonitor.hub.log import LOG, close_log, is_journal, open_log


def test_the_journal_is_known_by_device_and_inode(tmp_path: Path):
    with (tmp_path / "stream").open("w") as stream:
        found = os.fstat(stream.fileno())
        told = f"{found.st_dev}:{found.st_ino}"

        assert is_journal({"JOURNAL_STREAM": told}, stream.fileno())
        # Passed on by a parent of which only the variable came along.
        assert not is_journal({"JOURNAL_STREAM": "1:2"}, stream.fileno())
        assert not is_journal({}, stream.fileno())


def test_under_systemd_lines_carry_their_level_and_no_file_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(log, "is_journal", lambda _environ: True)
    handler = open_log(tmp_path / "logs")
    record = LOG.makeRecord(LOG.name, logging.WARNING, "", 0, "disk is\nfull", (), None)
    handler.handle(record)
    close_log(handler)

    assert capsys.readouterr().err == "<4>disk is\n<4>full\n"
    assert not (tmp_path / "logs").exists()


def test_elsewhere_it_is_a_file(tmp_path: Path):
    close_log(open_log(tmp_path / "logs"))

    assert (tmp_path / "logs" / "hub.log").exists()
