"""The hub's unit for systemd: what is installed, what is shipped, what systemd says."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kmonitor.cli.hub.service_unit import hub_command, is_unit_of, quoted, unit_path, unit_text
from kmonitor.cli.main import main
from kmonitor.cli.purge import find_own_files
from kmonitor_agent.wire.local.folders import find_folders

SHIPPED = Path(__file__).parents[4] / "packaging" / "systemd" / "kmonitor-hub.service"


def test_the_shipped_unit_is_the_one_that_is_installed():
    assert SHIPPED.read_text() == unit_text("/usr/bin/env kmonitor hub", {})


def test_a_home_of_its_own_is_passed_on_whatever_its_name():
    text = unit_text("x", {"KMONITOR_HOME": '/a b/"%c"$'})

    assert 'Environment="KMONITOR_HOME=/a b/\\"%%c\\"$"\n' in text
    assert quoted("/opt/$x") == '"/opt/$$x"'
    assert quoted("/plain/path") == "/plain/path"


def test_it_is_written_where_systemd_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    assert main(["hub", "install-unit"]) == 0

    written = tmp_path / "systemd" / "user" / "kmonitor-hub.service"
    assert unit_path() == written
    assert hub_command() in written.read_text()
    assert "enable --now" in capsys.readouterr().out


def test_the_unit_runs_a_hub_that_tells_its_figures(capsys: pytest.CaptureFixture[str]):
    options = ("--prometheus", "127.0.0.1:9188", "--otlp", "http://host:4318/a%20b")

    assert main(["hub", "install-unit", "--print", *options]) == 0

    (line,) = (each for each in capsys.readouterr().out.splitlines() if "ExecStart=" in each)
    said = "-m kmonitor.hub --prometheus 127.0.0.1:9188 --otlp http://host:4318/a%%20b"
    assert line.endswith(said)


def test_no_unit_is_written_for_what_a_hub_would_refuse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    assert main(["hub", "install-unit", "--prometheus", "9188"]) != 0

    assert "127.0.0.1:9188" in capsys.readouterr().err
    assert not unit_path().exists()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not here")
def test_systemd_finds_nothing_wrong_with_it(tmp_path: Path):
    unit = tmp_path / "kmonitor-hub.service"
    unit.write_text(unit_text(hub_command(), {"KMONITOR_HOME": "/a b"}))
    checked = subprocess.run(
        [shutil.which("systemd-analyze") or "", "verify", "--user", "--man=no", str(unit)],
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (checked.returncode, "kmonitor-hub" in checked.stderr) == (0, False), checked.stderr


def test_purge_removes_only_the_unit_of_its_own_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("KMONITOR_HOME", str(tmp_path / "a b"))
    assert main(["hub", "install-unit"]) == 0

    assert unit_path() in find_own_files(find_folders()).ours
    monkeypatch.setenv("KMONITOR_HOME", str(tmp_path / "other"))
    assert unit_path() not in find_own_files(find_folders()).ours
    monkeypatch.delenv("KMONITOR_HOME")
    assert not is_unit_of(unit_path(), find_folders())

    assert main(["hub", "install-unit"]) == 0
    assert is_unit_of(unit_path(), find_folders())
    monkeypatch.setenv("KMONITOR_HOME", str(tmp_path / "other"))
    assert not is_unit_of(unit_path(), find_folders())
