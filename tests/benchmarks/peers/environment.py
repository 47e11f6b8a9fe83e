"""The peers' own environment: made once from `requirements.txt`, apart from the project's."""

import hashlib
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE / ".venv"
REQUIREMENTS = HERE / "requirements.txt"
TORCH = "torch==2.13.0+cpu" if sys.platform == "linux" else "torch==2.13.0"
"""By its local version: on Linux the plain one brings several gigabytes of CUDA along."""

CPU_BUILDS = "https://download.pytorch.org/whl/cpu"
"""Index of that build, if pip's own indexes have none."""


def python() -> Path:
    """The environment's interpreter; made first where it is missing or has other requirements."""
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
    _add_torch(found)
    stamp.write_text(wanted)
    return found


def _add_torch(interpreter: Path) -> None:
    """PyTorch's build for the CPU: a lock that names no index cannot request it."""
    pip = [str(interpreter), "-m", "pip", "install", "--quiet", "--only-binary", ":all:", TORCH]
    if subprocess.run(pip, check=False, capture_output=True).returncode:
        subprocess.run([*pip, "--extra-index-url", CPU_BUILDS], check=True)


def versions(interpreter: Path, names: tuple[str, ...]) -> dict[str, str]:
    """Versions of these distributions that are installed there."""
    code = "import sys; from importlib.metadata import version as v; print(*map(v, sys.argv[1:]))"
    words = [str(interpreter), "-c", code, *names]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return dict(zip(names, done.stdout.split(), strict=True))
