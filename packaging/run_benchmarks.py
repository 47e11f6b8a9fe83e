"""Runs the benchmarks one after the other: `make bench`, or `make bench ARGS="hub"`."""

import os
import platform
import subprocess
import sys
from pathlib import Path

from tests.benchmarks.judging import Machine

ROOT = Path(__file__).resolve().parents[1]


LONG = {"bench_leaks"}
"""Runs for more than an hour, by `make bench-leaks`, or when it is named."""


def main(words: list[str]) -> int:
    """Run every benchmark whose name holds one of `words`, and give the exit status.

    Args:
        words: Parts of names; none runs all but the longest.
    """
    found = sorted((ROOT / "tests" / "benchmarks").glob("bench_*.py"))
    shorter = [one for one in found if one.stem not in LONG]
    picked = [one for one in found if any(word in one.stem for word in words)]
    picked = picked if words else shorter
    if not picked:
        print(f"no benchmark is called {' or '.join(words)}; there are:", *found, sep="\n  ")
        return 2
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}")
    failed = [one.stem for one in picked if not _runs(one)]
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _runs(benchmark: Path) -> bool:
    print(f"\n## {benchmark.stem.removeprefix('bench_')}\n", flush=True)
    defaults = {
        "QT_QPA_PLATFORM": "offscreen",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "ONEDNN_MAX_CPU_ISA": "AVX512_CORE_FP16",  # see tests/conftest.py
        "TF_ENABLE_ONEDNN_OPTS": "1",  # its allocator counts what tensors of a CPU take
    }
    environ = {**defaults, **os.environ}
    environ["PYTHONPATH"] = str(ROOT)
    command = [sys.executable, str(benchmark)]
    machine = Machine()
    status = subprocess.run(command, cwd=ROOT, env=environ, check=False).returncode
    if why_busy := machine.why_busy():
        print(f"machine too busy to judge what is above its bound: {why_busy}", flush=True)
    return status == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
