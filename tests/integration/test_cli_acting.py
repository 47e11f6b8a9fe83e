"""`command`, `hub`, `doctor` and `purge` as processes, on a real hub."""

import os
import pty
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kmonitor.connect.local_hub import request_local_hub, stop_hub
from kmonitor_agent.wire.limits import Limit
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.commands import Command, PlainArguments, SetLimits
from kmonitor_agent.wire.messages.events import Notice, Paused
from tests.support.command_line import MODULE, kmonitor, start_kmonitor
from tests.support.live_hub import LiveHub
from tests.support.simulated_agent import SimulatedAgent
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow

RUN = "0123456789abcdef" * 2
CHECKPOINT = "000001-fit1-epoch0-step0.h5"
NO_SCREEN = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "QT_QPA_PLATFORM": ""}


@pytest.fixture
def training(live_hub: LiveHub) -> Iterator[SimulatedAgent]:
    """A run that accepts every action."""
    with SimulatedAgent(live_hub.folders, name="resnet") as agent:
        agent.start_fit()
        agent.start_epoch()
        agent.wait_acked()
        yield agent


@pytest.fixture
def own_hub(folders: Folders) -> Iterator[Folders]:
    """Nothing runs; a hub that the command line starts is stopped."""
    yield folders
    stop_hub(folders)


def test_a_command_that_is_waited_for_prints_its_record(training: SimulatedAgent):
    ran = kmonitor("command", "resnet", "reload", "--at", "batch", "--wait")

    assert ran.status == 0, ran.err
    assert "Reloaded after epoch 1" in ran.out
    assert "functions 700 → 28" in ran.out
    (command,) = {command.id: command for command in training.commands}.values()
    assert command.args == PlainArguments(at="batch")
    assert command.requested_by


def test_a_command_that_is_not_waited_for_says_where_to_look(training: SimulatedAgent):
    training.on_command = lambda command: training.progress(command, "received")

    ran = kmonitor("command", "last", "save")

    assert ran.status == 0, ran.err
    assert f"kmonitor show {training.run}" in ran.out
    wait_until(lambda: training.commands, what="the command arrives")


def test_a_refused_command_says_why_and_fails(training: SimulatedAgent):
    def refuse(command: Command) -> None:
        training.progress(command, "refused", "the disk is full")

    training.on_command = refuse

    ran = kmonitor("command", "last", "save", "--wait")

    assert ran.status == 1
    assert "save was refused: the disk is full" in ran.err


def test_a_wait_that_is_too_long_ends_with_a_status_of_its_own(training: SimulatedAgent):
    training.on_command = lambda command: training.progress(command, "received")

    ran = kmonitor("command", "last", "save", "--wait", "--timeout", "0.3")

    assert ran.status == 3
    assert "has not run yet, but it will" in ran.err


def test_limits_are_set_from_the_command_line(training: SimulatedAgent):
    words = ("ram=80%:reload", "graph=50k", "vram=off")

    ran = kmonitor("command", "last", "set_limits", *words, "--wait")

    assert ran.status == 0, ran.err
    (command,) = {command.id: command for command in training.commands}.values()
    assert isinstance(command.args, SetLimits)
    assert command.args.metrics == ["ram", "graph", "vram"]
    assert "Active limits: RAM 80%" in ran.out
    assert "graph=50k:reload" in ran.out  # that limit alone holds nothing back
    assert "RAM 80%, reload" in kmonitor("show", "last").out


def test_a_limit_above_the_memory_is_set_with_a_warning(training: SimulatedAgent):
    def warn(code: str) -> None:
        training.emit(Notice(t_s=training.now_s(), level="warning", code=code, text=f"Too {code}"))

    def obey(command: Command) -> None:
        warn("limit_too_large")  # of the limits before
        training.set_limits([Limit("ram", "500 GiB").spec])
        warn("limit_too_large")
        warn("others_took_it")
        training.progress(command, "done")

    training.on_command = obey

    ran = kmonitor("command", "last", "set_limits", "ram=500GiB", "--wait")

    assert ran.status == 0, ran.err
    assert "Active limits: RAM 500 GiB" in ran.out
    assert ran.out.count("Too limit_too_large") == 1
    assert "Too others_took_it" not in ran.out


def test_limit_whose_action_the_run_cannot_carry_out_is_refused(live_hub: LiveHub):
    with SimulatedAgent(live_hub.folders, name="plain", actions=["save", "set_limits"]) as agent:
        agent.start_fit()
        agent.wait_acked()

        refused = kmonitor("command", "plain", "set_limits", "ram=8GiB:restart")
        sent = kmonitor("command", "plain", "set_limits", "ram=4G:save")
        taken = kmonitor("command", "plain", "set_limits", "ram=8GiB:save", "--wait")

    assert refused.status == 1
    assert "restart" in refused.err
    assert "Requested limits: RAM at most 4 GiB, save" in sent.out
    assert taken.status == 0, taken.err
    assert "Active limits: RAM 8 GiB, save" in taken.out
    assert {command.name for command in agent.commands} == {"set_limits"}
    assert len({command.id for command in agent.commands}) == 2


def test_a_pause_that_is_waited_for_says_that_it_holds(training: SimulatedAgent):
    def pause(command: Command) -> None:
        training.emit(Paused(t_s=training.now_s(), paused=True))
        training.progress(command, "done")

    training.on_command = pause

    ran = kmonitor("command", "last", "pause", "--wait")

    assert ran.status == 0, ran.err
    assert "Training is paused" in ran.out


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("fly",), 2, "reload"),
        (("set_limits",), 2, "at least one limit"),
        (("set_limits", "ram=much"), 2, '"ram=much" is not a limit'),
        (("save", "ram=80%"), 2, "Unexpected arguments"),
        (("save", "--at", "once"), 2, "epoch"),
        (("save", "--wait", "--timeout", "-1"), 2, "-1"),
    ],
)
def test_what_cannot_be_asked_is_explained(
    training: SimulatedAgent, words: tuple[str, ...], status: int, said: str
):
    ran = kmonitor("command", "last", *words)

    assert ran.status == status
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert training.commands == []


def test_a_training_that_takes_no_commands_says_so(live_hub: LiveHub):
    with SimulatedAgent(live_hub.folders, actions=[]) as agent:
        agent.wait_acked()
        ran = kmonitor("command", "last", "save")

    assert ran.status == 1
    assert "commands=False" in ran.err


def test_what_a_training_cannot_do_is_refused_with_its_own_reason_alone(live_hub: LiveHub):
    why = "the folder of kmonitor run cannot be written to: no space left"
    with SimulatedAgent(
        live_hub.folders, actions=["save", "stop"], unavailable={"restart": why}
    ) as agent:
        agent.wait_acked()
        ran = kmonitor("command", "last", "restart")

    assert ran.status == 1
    assert f"cannot restart: {why} Available actions: save, stop." in " ".join(ran.err.split())
    assert "did not start it" not in ran.err


def test_nothing_is_asked_of_a_run_that_has_ended(training: SimulatedAgent):
    training.end_fit()
    training.end_boot()
    training.wait_acked()

    ran = kmonitor("command", "last", "save")

    assert ran.status == 1
    assert "has ended (finished)" in ran.err


def test_a_hub_runs_in_the_terminal_until_it_is_stopped(own_hub: Folders):
    with start_kmonitor("hub") as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert request_local_hub(own_hub) is not None

        status, again = kmonitor("hub", "status", "--json"), kmonitor("hub")
        stopped = kmonitor("hub", "stop")
        process.wait(DEADLINE_S)

    assert status.json["pid"] == process.pid
    assert "To stop it, press Ctrl+C" in said
    assert again.status == 1
    assert again.out == ""
    assert again.err.startswith("kmonitor: A hub is already running")
    assert (stopped.status, process.returncode) == (0, 0)
    assert kmonitor("hub", "status").status == 1
    assert kmonitor("hub", "stop").status == 0


@pytest.mark.promise(13)
def test_purge_lists_asks_and_removes_only_what_is_ours(
    training: SimulatedAgent, folders: Folders
):
    training.close()
    others = folders.state / "thesis.txt"
    others.write_text("mine")

    asked = kmonitor("purge", given="yes\n")
    files = [path for path in folders.state.rglob("*") if not path.is_dir() and path != others]
    purged = kmonitor("purge", "--yes")

    assert asked.status == 1
    assert "kmonitor purge --yes" in asked.err
    assert purged.status == 0, purged.err
    assert [str(path) for path in files if str(path) not in purged.out] == []
    assert [path.name for path in folders.state.iterdir()] == ["thesis.txt"]
    assert request_local_hub(folders) is None


@pytest.mark.parametrize(("answer", "status"), [(b"yes\n", 0), (b"no\n", 1), (b"\n", 1)])
def test_purge_asks_who_sits_at_the_terminal(own_hub: Folders, answer: bytes, status: int):
    log = own_hub.logs / "hub.log"
    log.parent.mkdir(parents=True)
    log.write_text("")
    ours, theirs = pty.openpty()
    try:
        os.write(ours, answer)
        with subprocess.Popen([sys.executable, "-m", MODULE, "purge"], stdin=theirs) as process:
            process.wait(DEADLINE_S)
    finally:
        os.close(ours)
        os.close(theirs)

    assert process.returncode == status
    assert log.exists() == (status != 0)


def test_purge_does_not_follow_links(own_hub: Folders, tmp_path: Path):
    kept = tmp_path / "elsewhere" / RUN / CHECKPOINT
    kept.parent.mkdir(parents=True)
    kept.write_text("mine")
    own_hub.logs.mkdir(parents=True)
    (own_hub.logs / "hub.log").write_text("")
    own_hub.checkpoints.symlink_to(tmp_path / "elsewhere")

    ran = kmonitor("purge", "--yes")

    assert ran.status == 0, ran.err
    assert kept.read_text() == "mine"
    assert list(own_hub.state.iterdir()) == [own_hub.checkpoints]


def test_purge_leaves_alone_what_kmonitor_did_not_write(own_hub: Folders):
    mine = [
        "thesis.txt",
        "logs/train/events.out.tfevents.1",
        "logs/app.log.old",
        "checkpoints/best.keras",
        f"checkpoints/{RUN}/best.h5",
        f"checkpoints/epoch-3/{CHECKPOINT}",
        "settings/mine.yaml",
        "database/my.sqlite3",
        "run/pipeline.sh",
        "spool/x",
        "spool/mail/acked",
    ]
    ours = [
        "logs/hub.log.1",
        f"checkpoints/{RUN}/{CHECKPOINT}",
        f"checkpoints/{RUN}/{CHECKPOINT.removesuffix('.h5')}.keras",
        f"checkpoints/{RUN}/{CHECKPOINT.removesuffix('.h5')}.123.tmp.keras",
        "settings/window.json",
        "database/hub.sqlite3.damaged-12345",
        f"spool/{RUN}/00000000000000000001.events",
        f"spool/{RUN}/reserve",
        "launcher-here.json",
        "host-salt",
    ]
    for name in [*mine, *ours]:
        path = own_hub.state / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(name)

    ran = kmonitor("purge", "--yes")

    files = [path for path in own_hub.state.rglob("*") if path.is_file()]
    assert ran.status == 0, ran.err
    assert sorted(str(path.relative_to(own_hub.state)) for path in files) == sorted(mine)
    assert not (own_hub.spool / RUN).exists()
    assert f"kept, not created by kmonitor: {own_hub.logs}/train/\n" in ran.out
    assert f"kept, not created by kmonitor: {own_hub.checkpoints}/{RUN}/best.h5\n" in ran.out


def test_purge_leaves_the_folder_that_the_user_named_and_folders_that_were_empty(
    own_hub: Folders,
):
    own_hub.settings.mkdir(parents=True)
    (own_hub.settings / "window.json").write_text("{}")
    own_hub.checkpoints.mkdir()

    ran = kmonitor("purge", "--yes")

    assert ran.status == 0, ran.err
    assert list(own_hub.state.iterdir()) == [own_hub.checkpoints]


def test_purge_of_nothing_says_so(own_hub: Folders):
    assert "Nothing" in kmonitor("purge").out
    assert not own_hub.state.exists()


def test_doctor_examines_and_changes_nothing(own_hub: Folders):
    ran = kmonitor("doctor", "--json", environ=NO_SCREEN)
    found = {finding["subject"]: finding for finding in ran.json}

    assert ran.status == 0, ran.out
    assert found["hub"]["state"] == "note"
    assert found["screen"]["remedy"]
    assert found["package names"]["state"] == "ok"
    assert not own_hub.state.exists()


def test_doctor_names_a_folder_that_is_open_to_others(own_hub: Folders):
    own_hub.runtime.mkdir(parents=True)
    own_hub.runtime.chmod(0o755)

    ran = kmonitor("doctor")

    assert ran.status == 1
    assert f"chmod 700 {own_hub.runtime}" in ran.out


@pytest.mark.parametrize("command", ["runs", "hub"])
def test_a_socket_folder_that_is_open_to_others_is_refused(own_hub: Folders, command: str):
    own_hub.runtime.mkdir(parents=True)
    own_hub.runtime.chmod(0o755)

    ran = kmonitor(command)

    assert ran.status == 1
    assert f"chmod 700 {own_hub.runtime}" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("command", ["runs", "hub", "purge"])
def test_a_home_that_is_a_file_is_named(tmp_path: Path, command: str):
    home = tmp_path / "home-file"
    home.write_text("")

    ran = kmonitor(command, environ={"KMONITOR_HOME": str(home)})

    assert "Traceback" not in ran.err
    if command != "purge":
        assert ran.status == 1
        assert str(home) in ran.err


def test_a_hub_that_answers_nothing_is_not_waited_for_for_ever(own_hub: Folders):
    own_hub.runtime.mkdir(parents=True, mode=0o700)
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(os.fspath(own_hub.runtime / "view.sock"))

        ran = kmonitor("hub", "status")

    assert ran.status == 1
    assert "No hub is running" in ran.err


@pytest.mark.gui
def test_without_a_screen_the_window_explains_itself_and_does_not_abort(own_hub: Folders):
    ran = kmonitor(environ=NO_SCREEN)

    assert ran.status == 1
    assert "No display is available" in ran.err
    assert "--screenshot" in ran.err
    assert not own_hub.state.exists()


@pytest.mark.gui
def test_a_display_that_does_not_answer_does_not_abort_either(own_hub: Folders):
    ran = kmonitor(environ={**NO_SCREEN, "DISPLAY": ":9731"})

    assert ran.status == 1
    assert ":9731" in ran.err or "apt-get install" in ran.err


def test_a_mistyped_command_is_answered_with_the_one_that_was_meant():
    ran = kmonitor("rnus")

    assert ran.status == 2
    assert "kmonitor runs" in ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("hub", "bogus"), 'Unknown command "hub bogus".'),
        (("hub", "statsu"), "Did you mean kmonitor hub status?"),
        (("hub", "status", "extra"), "Unexpected arguments: extra"),
    ],
)
def test_a_mistyped_word_after_hub_is_named(words: tuple[str, ...], said: str):
    ran = kmonitor(*words)

    assert ran.status == 2
    assert said in ran.err
    assert "kmonitor hub --help" in ran.err


def test_version_and_help_need_no_hub(own_hub: Folders):
    version, explained = kmonitor("--version"), kmonitor("--help")

    assert version.out.startswith("kmonitor 0.")
    assert "MonitorCallback()" in explained.out
    assert not own_hub.state.exists()
