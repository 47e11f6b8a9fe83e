"""Trials of the hub's image: what its file looks like to a linter, and what it does once built."""

import shutil
import subprocess
import time

from kmonitor_release.commands import CannotBuild
from kmonitor_release.tools import open_workshop

from kmonitor_trials.outcome import ROOT, CannotTry, Failed, expect, tell

DOCKERFILE = ROOT / "packaging" / "docker" / "Dockerfile"

_TAG = "kmonitor-hub:trial"
_NAME = "kmonitor-hub-trial"
_HEALTHY_WITHIN_S = 600.0


def lint_image() -> None:
    """Hadolint finds nothing in the image's file.

    Raises:
        CannotTry: Hadolint is not for this machine.
        Failed: With what it found.
    """
    try:
        workshop = open_workshop(ROOT, ROOT / ".setup" / "release")
    except CannotBuild as exc:
        raise CannotTry(f"the tools of releases are not to be had: {exc}") from exc
    hadolint = workshop.python.parent / "hadolint"
    if not hadolint.exists():
        raise CannotTry("hadolint is not made for this machine")
    expect([hadolint, DOCKERFILE], what="hadolint")


def try_image() -> None:
    """The image is built, its hub answers as a user that is not root, and Docker says healthy.

    Raises:
        CannotTry: No engine answers here.
        Failed: With what did not work.
    """
    if not shutil.which("docker"):
        raise CannotTry("there is no docker here")
    asked = subprocess.run(
        ["docker", "info"],  # noqa: S607 - of who runs the trials
        capture_output=True,
        text=True,
        check=False,
    )
    if asked.returncode != 0:
        raise CannotTry("no engine answers docker here: the image was not built")
    build = ["docker", "build", "--file", DOCKERFILE, "--tag", _TAG, ROOT]
    expect(build, what="docker build")
    subprocess.run(["docker", "rm", "-f", _NAME], capture_output=True, check=False)  # noqa: S607
    expect(["docker", "run", "--detach", "--name", _NAME, _TAG], what="docker run")
    try:
        _see_healthy()
        said = expect(["docker", "exec", _NAME, "id", "-u"], what="it is not root's")
        if said.strip() == "0":
            raise Failed("the hub in the image runs as root")
    finally:
        subprocess.run(["docker", "rm", "-f", _NAME], capture_output=True, check=False)  # noqa: S607


def _see_healthy() -> None:
    template = "{{.State.Health.Status}}"
    ends_s = time.monotonic() + _HEALTHY_WITHIN_S
    said = ""
    while time.monotonic() < ends_s:
        said = expect(
            ["docker", "inspect", "--format", template, _NAME], what="its health"
        ).strip()
        if said == "healthy":
            tell("  the hub in the image is healthy")
            return
        time.sleep(2.0)
    raise Failed(f"the hub in the image is {said} after {_HEALTHY_WITHIN_S:g} s")
