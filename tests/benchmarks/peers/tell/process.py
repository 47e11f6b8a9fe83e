"""A training as a process in its own memory group, ended with all it started."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from kmonitor_agent.wire.local.control_groups import group_folders

_EVERY_S = 0.02
_LONGEST_S = 240.0
_LEAVES_WITHIN_S = 10.0
_LIMITS = ("memory.max", "memory.limit_in_bytes")
_HELD = ("anon", "total_rss")
_JOIN = 'echo $$ > "$0/cgroup.procs" && exec "$@"'


def run(
    words: Sequence[str],
    folder: Path,
    environ: dict[str, str],
    meanwhile: Callable[[], None] = lambda: None,
) -> str:
    """Its output; processes that it leaves running are ended, once they had time to leave.

    Args:
        words: The command.
        folder: Folder where it runs, and where it writes `bound`: its process, and how many bytes
            more than now it may have. Beyond them the kernel kills it; where no memory group can
            be made, a watchman does.
        environ: Environment of the process.
        meanwhile: Called all the time.
    """
    began_s = time.monotonic()
    with _group(folder.name) as group, (folder / "printed.txt").open("w") as printed:
        joined = ["/bin/sh", "-c", _JOIN, str(group)] if group is not None else []
        process = subprocess.Popen(
            [*joined, *words],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        bound = _Bound(folder / "bound", group)
        try:
            while process.poll() is None:
                if time.monotonic() - began_s > _LONGEST_S:
                    raise SystemExit(f"{words} takes too long")
                bound.keep()
                meanwhile()
                time.sleep(_EVERY_S)
        finally:
            _end_session(process.pid)
            process.wait()
    text = (folder / "printed.txt").read_text(errors="replace")
    if process.returncode not in (0, -signal.SIGKILL):
        raise SystemExit(f"{words} failed:\n{text[-3000:]}")
    return text


class _Bound:
    """Memory limit of a training, from the moment when it announces it."""

    def __init__(self, file: Path, group: Path | None) -> None:
        self._file = file
        self._group = group
        self._pid = 0
        self._bytes = 0

    def keep(self) -> None:
        """Set the group's limit once for each process, or kill what is beyond it."""
        with suppress(OSError, ValueError, psutil.Error):  # none yet, half written, or gone
            pid, more = map(int, self._file.read_text().split())
            if pid != self._pid:
                self._pid, self._bytes = pid, self._held(pid) + more
                if self._group is not None:
                    _write_limit(self._group, self._bytes)
            if self._group is None and self._held(pid) > self._bytes:
                os.kill(pid, signal.SIGKILL)

    def _held(self, pid: int) -> int:
        if self._group is None:
            return psutil.Process(pid).memory_info().rss
        told = dict(line.split() for line in (self._group / "memory.stat").open())
        return next(int(told[name]) for name in _HELD if name in told)


@contextmanager
def _group(name: str) -> Iterator[Path | None]:
    """A memory group without a limit yet; None where this user may make none."""
    made: Path | None = None
    for _version, above in group_folders():
        folder = above / f"kmonitor-tell-{os.getpid()}-{name}"
        with suppress(OSError):
            folder.mkdir()
            made = folder
            break
    try:
        yield made
    finally:
        if made is not None:
            _remove(made)


def _remove(group: Path) -> None:
    """Once all that is in it has left: W&B's process is in its own session."""
    until_s = time.monotonic() + _LEAVES_WITHIN_S
    while group.exists():
        with suppress(OSError):
            if time.monotonic() > until_s:
                for pid in (group / "cgroup.procs").read_text().split():
                    os.kill(int(pid), signal.SIGKILL)
            group.rmdir()
        time.sleep(_EVERY_S)


def _write_limit(group: Path, limit_bytes: int) -> None:
    for name in _LIMITS:
        if (group / name).exists():
            (group / name).write_text(str(limit_bytes))


def _end_session(leader: int) -> None:
    """A tool's own processes may write what they still have; then nothing is left."""
    until_s = time.monotonic() + _LEAVES_WITHIN_S
    while time.monotonic() < until_s:
        try:
            os.killpg(leader, 0)
        except ProcessLookupError:
            return
        time.sleep(_EVERY_S)
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)
