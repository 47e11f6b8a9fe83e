"""Runs many command lines, each in a fork of one process that has imported what they need.

`python -m tests.promise.many_commands` reads a JSON list of {words, environ} from standard input
and prints a JSON list of {status, out, err}. Each runs in the working folder; the status is None
where it did not end within the limit, and negative for a signal.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.support.trainings import ROOT
from tests.support.waiting import DEADLINE_S

LIMIT_S: Final = 60
"""A command line that does not end within it hangs, seconds."""

_IMPORTED: Final = (
    "alerts.command",
    "audit",
    "checkpoints",
    "compare.command",
    "completion",
    "doctor.command",
    "export",
    "hosts",
    "hub.command",
    "inspect_file",
    "keys",
    "load_cost",
    "map",
    "report",
    "restore",
    "run",
    "runs",
    "send_command",
    "ship",
    "show.command",
)


def run_all(
    lines: Sequence[tuple[str, ...]],
    folder: Path,
    environ: Mapping[str, str],
    each: Sequence[Mapping[str, str]] = (),
) -> list[dict[str, Any]]:
    """Run command lines one after the other; `each` has more variables for each of them."""
    jobs = [
        {"words": words, "environ": dict(each[number]) if each else {}}
        for number, words in enumerate(lines)
    ]
    done = subprocess.run(
        [sys.executable, "-m", "tests.promise.many_commands"],
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, **environ, "PYTHONPATH": str(ROOT)},
        timeout=len(lines) * LIMIT_S + DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def main() -> None:
    """Run what standard input lists."""
    import importlib  # noqa: PLC0415

    for name in _IMPORTED:
        importlib.import_module(f"kmonitor.cli.{name}")
    results = [_one(job["words"], job["environ"]) for job in json.load(sys.stdin)]
    json.dump(results, sys.stdout)


def _one(words: list[str], environ: dict[str, str]) -> dict[str, Any]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            _become(words, environ, out.fileno(), err.fileno())
        status = _wait(child)
        texts = [_tail(file) for file in (out, err)]
    return {"status": status, "out": texts[0], "err": texts[1]}


def _become(words: list[str], environ: dict[str, str], out: int, err: int) -> None:
    status = 70
    try:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (2 * LIMIT_S, 2 * LIMIT_S))
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (out, 1), (err, 2)):
            os.dup2(source, target)
        for name, value in environ.items():
            os.environ.pop(name, None) if not value else os.environ.update({name: value})
        time.tzset()
        code = os.environ.get("PYTHONIOENCODING", "utf-8").split(":")
        for number, name in ((1, "stdout"), (2, "stderr")):
            errors = (
                code[1] if len(code) > 1 else ("strict" if number == 1 else "backslashreplace")
            )
            file = os.fdopen(number, "w", encoding=code[0], errors=errors, closefd=False)
            setattr(sys, name, file)
            setattr(sys, f"__{name}__", file)
        sys.argv = ["kmonitor", *words]
        from kmonitor.cli.main import main as command  # noqa: PLC0415

        status = command()
        sys.stdout.flush()
        sys.stderr.flush()
    except SystemExit as exc:
        status = exc.code if isinstance(exc.code, int) else 1
    except BaseException:  # noqa: BLE001 - the traceback is what is looked for
        import traceback  # noqa: PLC0415

        os.write(2, traceback.format_exc().encode("utf-8", "backslashreplace"))
    finally:
        os._exit(status)


def _wait(child: int) -> int | None:
    ends = time.monotonic() + LIMIT_S
    while time.monotonic() < ends:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _tail(file: Any) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 20_000))
    return file.read().decode("utf-8", "replace")


if __name__ == "__main__":
    main()
