"""The peers' own environment: made once from `requirements.txt`, apart from the project's."""

import hashlib
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE / ".venv"
REQUIREMENTS = HERE / "requirements.txt"


def python() -> Path:
    """The environment's interpreter; made first where it is missing or was asked for otherwise."""
    stamp = FOLDER / "kmonitor-stamp"
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    found = FOLDER / "bin" / "python"
    if stamp.exists() and stamp.read_text() == wanted:
        return found
    sys.stderr.write("installing the peers (once; takes minutes)\n")
    venv.create(FOLDER, with_pip=True, clear=True)
    pip = [str(found), "-m", "pip", "install", "--quiet", "--require-hashes", "--only-binary"]
    pip += [":all:", "--requirement", str(REQUIREMENTS)]
    subprocess.run(pip, check=True)
    stamp.write_text(wanted)
    return found


def versions(interpreter: Path, names: tuple[str, ...]) -> dict[str, str]:
    """What is installed there of these distributions."""
    code = "import sys; from importlib.metadata import version as v; print(*map(v, sys.argv[1:]))"
    words = [str(interpreter), "-c", code, *names]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return dict(zip(names, done.stdout.split(), strict=True))
