"""A script under `kmonitor run` notices nothing: streams, terminal, signals, end."""

import contextlib
import os
import pty
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.supervised import command, script, start_supervised, supervised
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = [pytest.mark.slow]

SLEEPS = """
    import os, signal, sys, time
    def told(number, frame):  # by the descriptor: it may come amid a write of the same stream
        os.write(1, signal.Signals(number).name.encode() + b"\\n")
        if number in {signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}:
            sys.exit(7)
    for number in {HANDLED}:
        signal.signal(getattr(signal, number), told)
    os.write(1, b"ready\\n")
    while True:
        time.sleep(0.1)  # not long: Python notes a signal just before it and acts on it after
"""


def test_bytes_go_through_untouched(tmp_path: Path):
    given = bytes(range(256)) * 300
    echo = """
        import sys
        data = sys.stdin.buffer.read()
        sys.stdout.buffer.write(data[::-1])
        sys.stderr.buffer.write(b"\\xff\\x00err")
    """

    ran = supervised(script(tmp_path, echo), given=given)

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, given[::-1], b"\xff\x00err")


@pytest.mark.parametrize("status", [3, 75])
def test_exit_status_is_kept(tmp_path: Path, status: int):
    ran = supervised(script(tmp_path, f"raise SystemExit({status})"))

    assert (ran.returncode, ran.stderr) == (status, b"")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL", "SIGSEGV"])
def test_the_same_signal_ends_both(tmp_path: Path, name: str):
    die = f"import os, signal\nsignal.signal({int(signal.SIGINT)}, signal.SIG_DFL)\n"

    ran = supervised(script(tmp_path, f"{die}os.kill(os.getpid(), signal.{name})"))

    assert ran.returncode == -getattr(signal, name)
    assert (b"kmonitor: the script was killed" in ran.stderr) == (name == "SIGKILL")


@pytest.mark.parametrize(
    "name", ["SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH"]
)
def test_signals_are_passed_on_once(tmp_path: Path, name: str):
    process = start_supervised(
        script(tmp_path, SLEEPS.replace("{HANDLED}", repr([name, "SIGTERM"])))
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"

    process.send_signal(getattr(signal, name))

    assert process.stdout.readline() == f"{name}\n".encode()
    if not name.startswith(("SIGTERM", "SIGHUP", "SIGQUIT")):
        process.send_signal(signal.SIGTERM)
    rest, errors = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, errors) == (7, b"")
    assert rest == (b"" if name in {"SIGTERM", "SIGHUP", "SIGQUIT"} else b"SIGTERM\n")


def test_an_interrupt_reaches_the_script_alone(tmp_path: Path):
    process = start_supervised(script(tmp_path, SLEEPS.replace("{HANDLED}", "[]")))
    assert process.stdout is not None
    process.stdout.readline()

    process.send_signal(signal.SIGINT)

    _, errors = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == -signal.SIGINT
    assert errors.rstrip().endswith(b"KeyboardInterrupt")
    assert b"kmonitor" not in errors


def test_a_terminal_stays_one_and_its_ctrl_c_comes_once(tmp_path: Path):
    path = script(
        tmp_path,
        """
        import os, signal, sys, time
        seen = []
        signal.signal(signal.SIGINT, lambda *_: seen.append(1))
        print("ready", os.isatty(0), os.isatty(1), os.isatty(2), flush=True)
        time.sleep(30 if not seen else 0)
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            time.sleep(0.05)
        print("interrupts", len(seen), flush=True)
        """.replace("time.sleep(30 if not seen else 0)", "while not seen: time.sleep(0.01)"),
    )
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, command(path))  # noqa: S606 - the command of this test
    told = b""

    def read() -> bytes:
        nonlocal told
        with contextlib.suppress(OSError):  # its end, on Linux
            told += os.read(terminal, 4096)
        return told

    wait_until(lambda: b"ready True True True" in read(), what="the script is ready")
    os.write(terminal, b"\x03")
    # The whole line: a terminal may hand it over in parts.
    wait_until(lambda: b"interrupts" in read().rpartition(b"\n")[0], what="the interrupt was seen")
    _, status = os.waitpid(child, 0)
    os.close(terminal)

    assert b"interrupts 1" in told
    assert os.waitstatus_to_exitcode(status) == 0


def test_stopped_and_continued_like_one_process(tmp_path: Path):
    path = script(tmp_path, SLEEPS.replace("{HANDLED}", "['SIGTERM']"))
    process = start_supervised(path)
    assert process.stdout is not None
    process.stdout.readline()
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    both = [process.pid, *map(int, children)]

    process.send_signal(signal.SIGTSTP)
    wait_until(lambda: all(_state(pid) == "T" for pid in both), what="both are stopped")
    process.send_signal(signal.SIGCONT)
    wait_until(lambda: all(_state(pid) != "T" for pid in both), what="both go on")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=DEADLINE_S)

    assert len(both) == 2
    assert process.returncode == 7


def test_what_is_ignored_stays_ignored(tmp_path: Path):
    path = script(
        tmp_path, "import signal\nprint(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)"
    )

    ran = subprocess.run(
        [str(shutil.which("nohup")), *command(path)],
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )

    assert ran.stdout == b"True\n"


def test_a_program_that_is_not_there(tmp_path: Path):
    path = script(tmp_path, "")
    words = command(path)
    words[words.index("--") + 1] = "no-such-program"

    ran = subprocess.run(words, capture_output=True, check=False)

    assert ran.returncode == 127
    assert ran.stderr == b"kmonitor: no-such-program: program not found\n"


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
