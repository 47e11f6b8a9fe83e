"""The hub's unit for systemd: what is installed, what is shipped, what systemd says."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kmonitor.cli.hub_unit import own_command, quoted, unit_path, unit_text
from kmonitor.cli.main import main

SHIPPED = Path(__file__).parents[3] / "packaging" / "systemd" / "kmonitor-hub.service"


def test_the_shipped_unit_is_the_one_that_is_installed():
    assert SHIPPED.read_text() == unit_text("/usr/bin/env kmonitor hub", {})


def test_a_home_of_its_own_is_passed_on_whatever_its_name():
    text = unit_text("x", {"KMONITOR_HOME": '/a b/"%c"$'})

    assert 'Environment="KMONITOR_HOME=/a b/\\"%%c\\"$$"\n' in text
    assert quoted("/plain/path") == "/plain/path"


def test_it_is_written_where_systemd_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    assert main(["hub", "install-unit"]) == 0

    written = tmp_path / "systemd" / "user" / "kmonitor-hub.service"
    assert unit_path() == written
    assert own_command() in written.read_text()
    assert "enable --now" in capsys.readouterr().out


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not here")
def test_systemd_finds_nothing_wrong_with_it(tmp_path: Path):
    unit = tmp_path / "kmonitor-hub.service"
    unit.write_text(unit_text(own_command(), {"KMONITOR_HOME": "/a b"}))
    checked = subprocess.run(
        [shutil.which("systemd-analyze") or "", "verify", "--user", str(unit)],
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (checked.returncode, "kmonitor-hub" in checked.stderr) == (0, False), checked.stderr
