"""The quick part of `make test`: format, lint, types and who may import whom."""

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
"""Tools of the environment that runs this, so that no other version is picked up."""


def main(code: list[str]) -> int:
    """Run every check, also after one failed, and give the exit status.

    Args:
        code: The folders to look at.
    """
    checks = {
        "format": ["ruff", "format", "--check", *code],
        "lint": ["ruff", "check", "--quiet", *code],
        "types": ["basedpyright", "--level", "error"],
        "imports": ["lint-imports", "--no-cache", "--no-logo"],
    }
    failed = [name for name, command in checks.items() if not _passes(name, command)]
    if failed:
        print(f"check: failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _passes(name: str, command: list[str]) -> bool:
    began_s = time.monotonic()
    told = subprocess.run(
        [str(BIN / command[0]), *command[1:]],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    took_s = time.monotonic() - began_s
    print(
        f"check: {name:8} {'ok' if told.returncode == 0 else 'FAILED'}  {took_s:.1f} s", flush=True
    )
    if told.returncode != 0:
        print(told.stdout, flush=True)
    return told.returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
