"""The project's own Python environment: created once, repaired after an interruption."""

import fcntl
import hashlib
import importlib.util
import json
import platform
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kmonitor_setup.lock_file import part_for, read_lock, write_hashed
from kmonitor_setup.pip_run import pip_install
from kmonitor_setup.words import CannotSetUp, say


@dataclass(frozen=True, slots=True)
class Project:
    """Paths of a clone.

    Attributes:
        root: The clone.
        venv: The environment.
        lock: Versions that were tried together, with the hashes of their files.
        work: Logs and locks of set-up; may be deleted.
    """

    root: Path
    venv: Path
    lock: Path
    work: Path

    @classmethod
    def at(cls, root: Path) -> "Project":
        """The usual places below a clone."""
        return cls(root, root / ".venv", root / "packaging" / "lock.txt", root / ".setup")

    @property
    def python(self) -> Path:
        """The environment's interpreter."""
        return self.venv / "bin" / "python"

    @property
    def stamp(self) -> Path:
        """Says what was installed; written last."""
        return self.venv / "kmonitor-setup.json"

    @property
    def unfinished(self) -> Path:
        """There while an installation runs, and after one that was interrupted."""
        return self.venv / "kmonitor-setup.unfinished"


def python_can_make_environments() -> bool:
    """True if this Python has venv and pip; Debian ships them apart, in python3-venv."""
    return all(importlib.util.find_spec(name) for name in ("venv", "ensurepip"))


def venv_package() -> str:
    """The Debian package that brings them for this Python."""
    ours = Path(sys.executable).resolve()
    debian = Path("/usr/bin/python3")
    if debian.exists() and debian.resolve() == ours:
        return "python3-venv"
    return f"python{sys.version_info.major}.{sys.version_info.minor}-venv"


def fingerprint(project: Project) -> str:
    """Changes when what has to be installed changes: dependencies, lock, Python.

    The tools' settings in pyproject.toml are left out: they install nothing.
    """
    settings = tomllib.loads((project.root / "pyproject.toml").read_text(encoding="utf-8"))
    kept = {name: settings.get(name) for name in ("project", "build-system")}
    kept["build"] = settings.get("dependency-groups", {}).get("build")
    digest = hashlib.sha256(json.dumps(kept, sort_keys=True).encode())
    digest.update(project.lock.read_bytes())
    digest.update(f"{platform.python_version()} {project.root}".encode())
    return digest.hexdigest()


def is_ready(project: Project, extras: Sequence[str]) -> bool:
    """True if everything in `extras` was installed and nothing has changed since."""
    if project.unfinished.exists() or not project.python.exists():
        return False
    try:
        stamp = json.loads(project.stamp.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    if not isinstance(stamp, dict) or stamp.get("fingerprint") != fingerprint(project):
        return False
    return set(extras) <= set(stamp.get("extras", ()))


def make_ready(project: Project, extras: Sequence[str]) -> None:
    """Make the environment, or bring the existing one up to date.

    Raises:
        CannotSetUp: With a remedy.
    """
    wanted = sorted({*extras, *_extras_there(project)})
    _make_venv(project)
    project.unfinished.touch()
    log = project.work / "install.log"
    log.unlink(missing_ok=True)
    say(f"installing Python packages for: {', '.join(wanted)} (the first time takes minutes)")
    install_locked(project, project.python, _requirements(project, wanted), log=log)
    # The build backend came from the lock as well, so pip need not make an environment for it.
    options = ["--no-deps", "--no-build-isolation"]
    pip_install(project.python, [*options, "--editable", str(project.root)], log=log)
    _write_stamp(project, wanted)
    project.unfinished.unlink()


def install_locked(
    project: Project,
    python: Path,
    requirements: Sequence[str],
    *,
    log: Path,
    report: Path | None = None,
) -> None:
    """Install requirements and what they need, each file checked against the lock's hashes.

    Only wheels are taken: building from source would run code, and fetch tools that no lock knows.

    Args:
        project: The clone with the lock.
        python: Python of the environment that gets them.
        requirements: Names are enough; the lock says the versions.
        log: File for pip's output.
        report: File for the list of installed files, as pip's `--report` writes it; None: no file.

    Raises:
        CannotSetUp: With a remedy.
    """
    listed = project.work / f"{python.parents[1].name.lstrip('.')}-requirements.txt"
    write_hashed(part_for(read_lock(project.lock), requirements), listed)
    options = ["--require-hashes", "--only-binary", ":all:"]
    options += [] if report is None else ["--report", str(report)]
    pip_install(python, [*options, "--requirement", str(listed)], log=log)


@contextmanager
def only_one(project: Project) -> Iterator[None]:
    """Hold off a second set-up of the same clone, in another terminal, until this one is done."""
    project.work.mkdir(exist_ok=True)
    with (project.work / "one-at-a-time").open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another set-up of this folder is running; waiting for it")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _extras_there(project: Project) -> list[str]:
    """Extras of an earlier set-up: `make run` after `make test` does not remove its tools."""
    try:
        return list(json.loads(project.stamp.read_text(encoding="utf-8"))["extras"])
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _make_venv(project: Project) -> None:
    if project.unfinished.exists():
        say("an earlier set-up was interrupted; starting .venv afresh")
    elif _runs_this_python(project):
        return
    else:
        say(f"making .venv with Python {platform.python_version()}")
    made = subprocess.run(
        [sys.executable, "-m", "venv", "--clear", str(project.venv)],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode != 0:
        tail = "\n".join((made.stdout + made.stderr).strip().splitlines()[-6:])
        raise CannotSetUp(f"{project.venv} could not be made.", tail)


def _runs_this_python(project: Project) -> bool:
    """True if .venv works and is of the Python that runs set-up."""
    if not project.python.exists():
        return False
    told = subprocess.run(
        [project.python, "-c", "import pip, platform; print(platform.python_version())"],
        capture_output=True,
        text=True,
        check=False,
    )
    return told.returncode == 0 and told.stdout.strip() == platform.python_version()


def _requirements(project: Project, extras: Sequence[str]) -> list[str]:
    settings = tomllib.loads((project.root / "pyproject.toml").read_text(encoding="utf-8"))
    ours = settings["project"]
    of_extras = [one for extra in extras for one in ours["optional-dependencies"][extra]]
    return [*ours["dependencies"], *of_extras, *settings["dependency-groups"]["build"]]


def _write_stamp(project: Project, extras: Sequence[str]) -> None:
    stamp = {"fingerprint": fingerprint(project), "extras": list(extras)}
    whole = project.stamp.with_suffix(".new")
    whole.write_text(json.dumps(stamp), encoding="utf-8")
    whole.replace(project.stamp)
