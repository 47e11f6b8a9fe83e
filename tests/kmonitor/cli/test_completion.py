"""Completions that Tab offers, and their set-up in a user's shell."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kmonitor.cli.completion import Shell, candidates, script
from kmonitor.cli.main import main
from kmonitor.connect.remembered_hosts import HostStore
from kmonitor_agent.wire.local.folders import Folders
from tests.support.live_hub import idle_hub, live_hub
from tests.support.pseudo_terminal import PseudoTerminal
from tests.support.simulated_agent import SimulatedAgent

__all__ = ["idle_hub", "live_hub"]


OWN_TERMINAL = ("setsid", "--ctty", "--wait")
"""A shell with jobs wants to be the terminal's session."""


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


COMPLETED = {
    "kmonitor doct": "doctor",
    "kmonitor runs --sta": "--state",
    "kmonitor runs --state tr": "training",
    "kmonitor command res": "resnet",
    "kmonitor command resnet co": "collect",
    "kmonitor show last --host g": "gpu",
    "kmonitor compare pinned:res": "pinned:resnet",
    "kmonitor command last set_limits shared": "shared_memory=",
    "kmonitor command last set_limits ram=80%": "ram=80%:",
    "kmonitor command last set_limits ram=80%:rel": "ram=80%:reload",
    "kmonitor alerts rule verdict:gr": "verdict:graph",
}
FEW = (
    "kmonitor runs --sta",
    "kmonitor command res",
    "kmonitor show last --host g",
    "kmonitor command last set_limits shared",
    "kmonitor command last set_limits ram=80%:rel",
)
"""One of each kind, for shells other than bash in `make test`: every Tab starts a process."""


@pytest.fixture
def shell_environ(user_home: Path, folders: Folders, live_hub: object) -> Iterator[dict[str, str]]:
    """Variables of a shell with kmonitor on its path, a run "resnet" and a host "gpu"."""
    HostStore(folders).add("ada@gpu-01.example", name="gpu")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with SimulatedAgent(folders, name="resnet") as agent:
        agent.wait_acked()
        yield {"PATH": path, "HOME": str(user_home), "KMONITOR_HOME": str(folders.state)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shell", "lines"),
    [
        pytest.param("bash", tuple(COMPLETED), id="bash"),
        pytest.param("zsh", FEW, id="zsh-few"),
        pytest.param("zsh", tuple(COMPLETED), id="zsh", marks=pytest.mark.full),
    ],
)
def test_a_shell_completes_after_an_install(
    shell: Shell, lines: tuple[str, ...], user_home: Path, shell_environ: dict[str, str]
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert main(["completion", "--install", "--shell", shell]) == 0
    options = ["--rcfile", str(user_home / ".bashrc")] if shell == "bash" else []
    command = (*OWN_TERMINAL, shell, *options)
    with PseudoTerminal("-i", environ=shell_environ, command=command) as terminal:
        terminal.type("echo begun-$((42))\r")  # a Tab before it reads keys would be lost
        terminal.wait_for("begun-42")
        for typed in lines:
            word = COMPLETED[typed]
            line = f"{typed.rpartition(' ')[0]} {word}"
            terminal.type(f"{typed}\t")
            terminal.wait_for(line)
            terminal.type("!")  # shows if a space came before it
            terminal.wait_for(f"{line}!" if word[-1] in "=:" else f"{line} !")
            terminal.type("\x15\x0c")
        terminal.type("exit\r")

    assert "not found" not in terminal.output


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(FEW, id="few"),
        pytest.param(tuple(COMPLETED), id="all", marks=pytest.mark.full),
    ],
)
def test_fish_completes_after_an_install(
    lines: tuple[str, ...], shell_environ: dict[str, str]
) -> None:
    assert main(["completion", "--install", "--shell", "fish"]) == 0
    asked = [f'complete -C "{typed}"' for typed in lines]

    done = subprocess.run(
        [shutil.which("fish") or "fish", "-c", "; ".join(asked)],
        env={**os.environ, **shell_environ},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == [COMPLETED[typed] for typed in lines]


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
    [
        ("shwo", "show"),
        ("ps", "runs"),
        ("kill", "command RUN stop"),
        ("set", "command RUN set_limits ram=80%:reload"),
        ("hub statsu", "hub status"),
        ("keys lst", "keys list"),
        ("keys rm", "keys revoke NAME"),
        ("runs ls", "runs"),
        ("alerts add", "alerts set --webhook URL"),
    ],
)
def test_an_unknown_word_suggests_a_command(
    word: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(word.split()) == 2
    assert f"Did you mean kmonitor {meant}?\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("runs --state died", "lost"),
        ("runs --state running", "live"),
        ("runs --sort RAM", "ram"),
        ("top --sort mem", "ram"),
    ],
)
def test_a_choice_of_another_program_suggests_one(
    line: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line.split()) == 2
    assert f'Did you mean "{meant}"?' in capsys.readouterr().err


@pytest.mark.parametrize("option", ["-o", "--output=json", "--no-headers"])
def test_options_of_other_programs_lead_to_json(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", option]) == 2
    assert "--json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("runs --since", "such as 30s, 12h or 7d"),
        ("alerts dry-run --since", "such as 30s, 12h or 7d"),
        ("runs --limit", "such as 20"),
        ("map model.keras --limit", "such as 8GiB or 500MB"),
        ("runs --state", "live, ended"),
        ("runs --host", "needs a value."),
    ],
)
def test_an_option_without_its_value_says_how_one_looks(
    line: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line.split()) == 2
    assert value in capsys.readouterr().err


def test_an_unknown_option_suggests_only_what_is_near(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "--satte", "live"]) == 2
    assert "Did you mean --state?" in capsys.readouterr().err
    assert main(["show", "last", "--since", "7d"]) == 2
    assert "--json" not in capsys.readouterr().err
