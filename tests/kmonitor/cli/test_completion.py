"""What Tab offers, and how that is set up in a user's shell."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kmonitor.cli.completion import Shell, candidates, script
from kmonitor.cli.main import main
from kmonitor.connect.remembered_hosts import HostStore
from kmonitor_agent.wire.local.folders import Folders
from tests.support.live_hub import idle_hub, live_hub
from tests.support.simulated_agent import SimulatedAgent

__all__ = ["idle_hub", "live_hub"]


@pytest.fixture
def user_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's home with an empty `.bashrc` but for one line without an end."""
    home = tmp_path / "user"
    home.mkdir()
    (home / ".bashrc").write_text("alias ll='ls -l'")
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("sho",), ["show"]),
        (("runs", "p"), ["pin", "prune"]),
        (("runs", "--st"), ["--state"]),
        (("runs", "--state", "tr"), ["training"]),
        (("command", "last", "re"), ["reload", "restart", "resume"]),
        (("command", "--host", "gpu", "last", "sa"), ["save"]),
        (("export", "last", "--format", "cs"), ["csv", "csvlogger"]),
        (("run", "--", "py"), []),
        (("nothing", "x"), []),
    ],
)
def test_commands_options_and_choices_are_offered(
    words: tuple[str, ...], offered: list[str]
) -> None:
    assert candidates(words) == offered


def test_hosts_are_offered_by_their_names(folders: Folders) -> None:
    HostStore(folders).add("ada@gpu-01.example", name="gpu")

    assert candidates(("show", "last", "--host", "")) == ["gpu"]
    assert candidates(("hosts", "remove", "g")) == ["gpu"]


@pytest.mark.slow
def test_runs_are_offered_by_name_and_id(live_hub: object, folders: Folders) -> None:
    with SimulatedAgent(folders, name="resnet") as agent:
        agent.wait_acked()

        assert candidates(("show", "res")) == ["resnet"]
        assert candidates(("show", agent.run[:4])) == [agent.run[:8]]
        assert "pinned:resnet" in candidates(("compare", "pin"))


def test_no_hub_is_started_for_a_tab(folders: Folders) -> None:
    assert candidates(("show", "")) == ["last"]
    assert not folders.runtime.exists()


@pytest.mark.slow
def test_bash_completes_after_an_install(user_home: Path) -> None:
    assert main(["completion", "--install", "--shell", "bash"]) == 0
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    typed = (
        f". {user_home}/.bashrc; COMP_WORDS=(kmonitor runs --state tr); COMP_CWORD=3;"
        ' _kmonitor; echo "${COMPREPLY[@]}"'
    )

    done = subprocess.run(
        ["/bin/bash", "--norc", "-c", typed],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": path},
    )

    assert done.stdout == "training\n"


def test_an_install_leaves_other_lines_and_can_be_undone(user_home: Path) -> None:
    startup = user_home / ".bashrc"
    for _ in range(2):
        main(["completion", "--install", "--shell", "bash"])
    installed = startup.read_text().splitlines()
    main(["completion", "--remove", "--shell", "bash"])

    assert installed[0] == "alias ll='ls -l'"
    assert len(installed) == 2
    assert startup.read_text() == "alias ll='ls -l'\n"
    assert list((user_home / ".local").rglob("kmonitor")) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_script_is_one_that_its_shell_reads(shell: Shell) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")

    done = subprocess.run(
        [shell, "-n"], input=script(shell), capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("word", "meant"),
    [("shwo", "show"), ("ps", "runs"), ("kill", "command RUN stop"), ("hub statsu", "hub status")],
)
def test_an_unknown_word_suggests_a_command(
    word: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(word.split()) == 2
    assert f"Did you mean: kmonitor {meant}?" in capsys.readouterr().err
