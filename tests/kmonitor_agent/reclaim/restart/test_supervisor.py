"""When a script is started again, and the messages to the user and the hub."""

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from typing_extensions import override

from kmonitor_agent.reclaim.restart import supervisor
from kmonitor_agent.reclaim.restart.child_process import ScriptExit, ScriptProcess
from kmonitor_agent.reclaim.restart.crash_diagnosis import ProcessDeath
from kmonitor_agent.reclaim.restart.supervisor import Supervisor, SupervisorOptions
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.supervision import RESTART_STATUS, RestartRequest, find_supervision
from tests.support.supervised import script, supervised

pytestmark = [pytest.mark.slow]


def test_a_script_that_leaves_is_started_again(tmp_path: Path, folders: Folders):
    path = script(tmp_path, "if n < 3:\n    leave()\n    sys.exit(75)\nprint('end', n)", asks=True)

    ran = supervised(path, tmp_path / "starts")

    lines = ran.stderr.decode().splitlines()
    assert (ran.returncode, ran.stdout) == (0, b"end 3\n")
    assert [line for line in lines if "restarting the script" in line] == [
        f"kmonitor: restarting the script (restart {n}, requested by script)." for n in (1, 2, 3)
    ]
    assert len([line for line in lines if "same order" in line]) == 1
    assert "same order" in lines[1]
    assert not list((folders.state / "restarts").iterdir())


def test_status_75_without_saved_state_is_the_scripts_own(tmp_path: Path):
    path = script(tmp_path, "commit()\nsys.exit(75)", asks=True)

    ran = supervised(path, tmp_path / "starts")

    assert (ran.returncode, (tmp_path / "starts").read_text()) == (75, "x")


def test_a_script_that_swallowed_the_exit_is_started_again(tmp_path: Path):
    path = script(tmp_path, "if n == 0:\n    leave()\nsys.exit(n * 3)", asks=True)

    ran = supervised(path, tmp_path / "starts")

    assert (ran.returncode, (tmp_path / "starts").read_text()) == (3, "xx")


def test_crashes_are_resumed_as_often_as_asked(tmp_path: Path):
    path = script(tmp_path, "commit()\nos.kill(os.getpid(), 11)", asks=True)

    ran = supervised(path, tmp_path / "starts", options=("--resume-after-crash", "2"))

    lines = ran.stderr.decode().splitlines()
    assert (ran.returncode, (tmp_path / "starts").read_text()) == (-11, "xxx")
    assert "SIGSEGV" in lines[0]
    assert lines[0].endswith("Restarting it; 1 of 2 restarts left.")


def test_a_failed_exit_status_is_a_crash_too(tmp_path: Path):
    path = script(tmp_path, "commit()\nsys.exit(4 if n == 0 else 0)", asks=True)

    ran = supervised(path, tmp_path / "starts", options=("--resume-after-crash", "1"))

    assert (ran.returncode, (tmp_path / "starts").read_text()) == (0, "xx")


def test_without_state_a_crash_is_not_resumed(tmp_path: Path):
    path = script(tmp_path, "os.kill(os.getpid(), 9)", asks=True)

    ran = supervised(path, tmp_path / "starts", options=("--resume-after-crash", "2"))

    assert (ran.returncode, (tmp_path / "starts").read_text()) == (-9, "x")


def test_a_script_that_was_told_to_end_is_not_resumed(tmp_path: Path):
    path = script(
        tmp_path, "commit()\nos.kill(os.getppid(), 15)\nimport time\ntime.sleep(3600)", asks=True
    )

    ran = supervised(path, tmp_path / "starts", options=("--resume-after-crash", "2"))

    assert (ran.returncode, (tmp_path / "starts").read_text()) == (-15, "x")


def test_who_was_told_to_end_while_it_left_is_said_to_have_been(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    told: list[ProcessDeath] = []

    class Leaves(ScriptProcess):
        """Is on its way to be started again when Ctrl+C comes."""

        def __init__(self, argv: Sequence[str], environ: Mapping[str, str]) -> None:
            del argv
            shared = find_supervision(environ)
            assert shared is not None
            shared.leave(RestartRequest(shared.run_id("made up"), "script"))

        @override
        def wait(self) -> ScriptExit:
            return ScriptExit(status=RESTART_STATUS, forwarded_signal=signal.SIGINT)

    def tell(folders: Folders, run: str, death: ProcessDeath, **_: object) -> bool:
        told.append(death)
        return True

    monkeypatch.setattr(supervisor, "ScriptProcess", Leaves)
    monkeypatch.setattr(supervisor, "record_death", tell)

    ended = Supervisor(
        SupervisorOptions(["script"]), folders=folders, environ={}, print_line=print
    ).run()

    assert ended.signal == signal.SIGINT
    assert [(death.how, death.signal) for death in told] == [("signal", "SIGINT")]


def test_a_program_between_is_not_taken_for_the_script(tmp_path: Path):
    path = script(
        tmp_path,
        """
        import os, subprocess, sys
        of = "kmonitor_agent.recording.supervised_fits"
        why = f"from {of} import why_not_restart as w; print(w())"
        subprocess.run([sys.executable, "-c", why])
        """,
    )

    ran = supervised(path)

    assert ran.stdout.startswith(
        b"another program is running between kmonitor run and this process"
    )


def test_nothing_to_run_is_said_with_what_to_write():
    import subprocess  # noqa: PLC0415
    import sys  # noqa: PLC0415

    ran = subprocess.run(
        [sys.executable, "-m", "kmonitor.cli.main", "run"], capture_output=True, check=False
    )

    assert ran.returncode == 2
    assert b"kmonitor run -- python train.py" in ran.stderr
