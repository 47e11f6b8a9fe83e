"""A trial on a bare Debian: a tree made by debootstrap, with only Python, git and make in it.

The host's network settings hold inside as well: name resolution, certificates, pip's settings
and proxies, and local folders that pip's settings name. Nothing is mounted in the host's
own name space, so nothing is left mounted when a trial is interrupted.
"""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from kmonitor_setup import apt

from kmonitor_trials.outcome import ROOT, WORK, CannotTry, expect, tell

_INCLUDED = "python3,git,make,ca-certificates"
"""Packages that are enough, as the README promises."""

_CLONE = "/root/kmonitor"

_HOST_FILES = ("/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs", "/etc/pip.conf")

_LOCAL_PATH = re.compile(r"(?:file://)?(/[\w./-]+)")

_DEPTH_OF_OPT = len(Path("/opt/packages").parts)

_STEPS = {
    "make setup on a bare machine": "make setup",
    "a second set-up installs nothing": (
        "make setup > .setup/second.txt && ! grep installing .setup/second.txt"
    ),
    "kmonitor --version": ".venv/bin/kmonitor --version",
    "kmonitor doctor": ".venv/bin/kmonitor doctor",
    "make run without a screen": "make run && test -s kmonitor-demo.png",
    "the tests without a window": (
        "packaging/set_up.sh --testing && "
        ".venv/bin/python packaging/run_tests.py -m 'not (full or gui or screen)'"
    ),
}
"""In order; each runs in the clone inside the tree."""


def try_release(suite: str) -> None:
    """Set up, run the demo and pass the tests on a bare Debian.

    Args:
        suite: Debian's name of the release, "trixie".

    Raises:
        CannotTry: Not root, or Debian cannot be reached.
        Failed: With the step that did not work.
    """
    tree = make_tree(suite, _INCLUDED, name=suite)
    _copy_clone(tree)
    for what, step in _STEPS.items():
        said = expect(["sh", "-c", _inside(tree, step)], what=f"{suite}: {what}", limit_s=14_400)
        for line in said.strip().splitlines()[-3:]:
            tell(f"    {line}")
    shutil.rmtree(tree)


def make_tree(suite: str, included: str, *, name: str) -> Path:
    """A new Debian with nothing in it but its least and some packages.

    Args:
        suite: Debian's name of the release.
        included: Names of packages, with commas between them.
        name: Name of the tree's folder.

    Raises:
        CannotTry: Not root, or Debian cannot be reached.
    """
    if os.geteuid() != 0:
        raise CannotTry("debootstrap needs root")
    if not shutil.which("debootstrap"):
        if apt.why_not_allowed(no_apt=bool(os.environ.get("NO_APT"))):
            raise CannotTry("debootstrap is not installed")
        apt.install(["debootstrap"])
    tree = WORK / name
    shutil.rmtree(tree, ignore_errors=True)
    packages = WORK / f"{suite}-packages"
    packages.mkdir(parents=True, exist_ok=True)
    tell(f"  debootstrap {suite}")
    made = subprocess.run(
        [
            *("debootstrap", "--variant=minbase", f"--include={included}"),
            *(f"--cache-dir={packages}", suite, str(tree)),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if made.returncode != 0:
        last = made.stdout.strip().splitlines()[-1:] or ["debootstrap failed"]
        raise CannotTry(f"{last[0]} (is Debian reachable from here?)")
    return tree


def _copy_clone(tree: Path) -> None:
    """The working tree as it is, committed or not, without the files that git ignores."""
    listed = expect(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        what="copy the clone into the tree",
    )
    inside = tree / _CLONE.lstrip("/")
    for name in filter(None, listed.split("\0")):
        source = ROOT / name
        if source.is_file():
            target = inside / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def _inside(tree: Path, step: str) -> str:
    """A shell line that runs `step` in the clone inside the tree."""
    return own_namespace(tree, f"cd {_CLONE} && {step}")


def own_namespace(tree: Path, step: str) -> str:
    """A shell line that runs `step` inside the tree, with the host's network."""
    cache = tempfile.gettempdir() + "/pip-cache"
    shared = [Path(one) for one in _HOST_FILES] + _pip_settings() + _local_places()
    root = shlex.quote(str(tree))
    # Bound to itself, the tree is a mount, and its root is listed among them as any machine's.
    lines = ["set -e", f"mount --rbind {root} {root}", f"cd {root}", "mount --rbind /dev dev"]
    lines += ["mount -t proc proc proc", "mount --rbind /sys sys"]
    for place in dict.fromkeys(one for one in shared if one.exists()):
        lines += _bind(place, str(place))
    lines += _bind(_pip_cache(), cache)
    environ = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "LC_ALL": "C.UTF-8",
        "DISPLAY": "",
        "PIP_CACHE_DIR": cache,
        **{name: value for name, value in os.environ.items() if _is_about_the_network(name)},
    }
    words = " ".join(f"{name}={shlex.quote(value)}" for name, value in environ.items())
    lines.append(f"exec chroot . /usr/bin/env -i {words} sh -ec {shlex.quote(step)}")
    # The commands end with the name space they run in, also when this process is killed.
    return f"exec unshare --mount --pid --fork --kill-child sh -c {shlex.quote('; '.join(lines))}"


def _bind(source: Path, inside: str) -> list[str]:
    target = shlex.quote(inside.lstrip("/"))
    make = (
        f"mkdir -p {target}"
        if source.is_dir()
        else f'mkdir -p "$(dirname {target})"; touch {target}'
    )
    return [
        f"{{ [ -e {target} ] || {{ {make}; }}; }}",
        f"mount --bind {shlex.quote(str(source))} {target}",
    ]


def _is_about_the_network(name: str) -> bool:
    return name.upper().startswith(("PIP_", "SSL_CERT", "REQUESTS_CA")) or name.lower().endswith(
        "_proxy"
    )


def _pip_settings() -> list[Path]:
    home = Path.home()
    return [home / ".config/pip/pip.conf", home / ".pip/pip.conf"]


def _local_places() -> list[Path]:
    """Files and folders of this machine that pip's settings name, to find packages for example."""
    texts = [value for name, value in os.environ.items() if name.startswith("PIP_")]
    settings = [one for one in (Path("/etc/pip.conf"), *_pip_settings()) if one.is_file()]
    texts += [one.read_text(encoding="utf-8") for one in settings]
    named = {Path(found) for text in texts for found in _LOCAL_PATH.findall(text)}
    # With the folder around each: the pages of a local index may point beside it. Never a folder
    # at the top: binding /usr or /etc would hide the tree's own.
    around = {one if len(one.parts) <= _DEPTH_OF_OPT else one.parent for one in named}
    return sorted(one for one in around if one.exists() and one.parent != Path("/"))


def _pip_cache() -> Path:
    said = subprocess.run(
        [str(ROOT / ".venv/bin/python"), "-m", "pip", "cache", "dir"],
        capture_output=True,
        text=True,
        check=False,
    )
    cache = Path(said.stdout.strip() or WORK / "pip-cache")
    cache.mkdir(parents=True, exist_ok=True)
    return cache
