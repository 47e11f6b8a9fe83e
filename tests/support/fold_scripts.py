"""Scripts that call `run_folds`, as a user starts them."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from kmonitor_agent.studies.process_tree import MARK
from tests.support.source_tree import ROOT
from tests.support.waiting import DEADLINE_S

GUARDED = """
    from kmonitor_agent import run_folds

    def train_fold(fold):
        return fold.index * 10

    if __name__ == "__main__":
        print(run_folds(train_fold, folds=2, study="study").values)
"""


def environ() -> dict[str, str]:
    """In which a script finds this source tree."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def run_script(folder: Path, text: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a script in its folder to its end.

    Args:
        folder: Folder where the script is written and runs.
        text: Its source; any indentation.
        words: Words before its path; none: Python alone.
    """
    path = folder / "script.py"
    path.write_text(textwrap.dedent(text))
    return subprocess.run(
        [sys.executable, *words, *([] if words else [str(path)])],
        cwd=folder,
        env=environ(),
        input=path.read_text() if words else "",
        capture_output=True,
        text=True,
        timeout=2 * DEADLINE_S,
        check=False,
    )


def start_script(folder: Path, text: str) -> "subprocess.Popen[Any]":
    """Start a script in its folder, in its own process group; its output is kept."""
    path = folder / "script.py"
    path.write_text(textwrap.dedent(text))
    with (folder / "said").open("ab") as said:
        return subprocess.Popen(
            [sys.executable, str(path)],
            cwd=folder,
            env=environ(),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            process_group=0,
        )


def interrupt(script: "subprocess.Popen[Any]") -> None:
    """As Ctrl+C in its terminal does."""
    os.killpg(script.pid, signal.SIGINT)


def of_any_fold() -> list[int]:
    """Processes of any fold on this host that are alive."""
    found: list[int] = []
    for each in Path("/proc").iterdir():
        try:
            is_one = each.name.isdigit() and f"{MARK}=".encode() in (each / "environ").read_bytes()
            if is_one and (each / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                found.append(int(each.name))
        except OSError:
            continue
    return found


def is_alive(pid: int) -> bool:
    """True if a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
