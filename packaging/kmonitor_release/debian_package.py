"""The packed app as a Debian package: program, menu, icons, man page, the hub's systemd unit."""

import gzip
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

from kmonitor_setup.libraries import needed_libraries

from kmonitor_release.commands import CannotBuild, run
from kmonitor_release.source import Source

_RENAMED = {"libglib2.0-0": "libglib2.0-0t64 | libglib2.0-0"}
"""Packages with another name from Debian 13 on."""

NOBODY = "kmonitor developers <noreply@kmonitor.invalid>"
"""Maintainer of a package without a named one. Source: RFC 2606, `.invalid`."""


@dataclass(frozen=True, slots=True)
class Contents:
    """Contents of the package.

    Attributes:
        app: The packed app's folder.
        documents: Names of files in that folder that are to be found in `/usr/share/doc/kmonitor`.
        version: Version of kmonitor.
    """

    app: Path
    documents: tuple[str, ...]
    version: str


def make_package(contents: Contents, source: Source, work: Path, into: Path) -> Path:
    """Build the package.

    Args:
        contents: Contents of the package.
        source: The commit; entry, icons, unit and texts are its.
        work: Folder for the package's tree.
        into: Folder that gets the package.

    Raises:
        CannotBuild: dpkg is not here, or failed.
    """
    if not shutil.which("dpkg-deb"):
        raise CannotBuild("a Debian package needs dpkg-deb, which is not here")
    architecture = run(["dpkg", "--print-architecture"], what="the architecture").strip()
    tree = work / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    lay_out(tree, contents, source)
    _write_control(tree, contents.version, architecture, source)
    for path in [tree, *tree.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or _is_program(path) else 0o644)
            os.utime(path, (source.epoch_s, source.epoch_s))
    target = into / f"kmonitor_{contents.version}_{architecture}.deb"
    # The one way of packing that every archive of Debian's takes.
    command = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", tree, target]
    run(command, what="the Debian package", environ=source.environ())
    return target


def lay_out(tree: Path, contents: Contents, source: Source) -> None:
    """Put every file where it is to be installed, below `tree`."""
    usr, clone = tree / "usr", source.tree
    shutil.copytree(contents.app, usr / "lib" / "kmonitor", symlinks=True)
    (usr / "bin").mkdir()
    (usr / "bin" / "kmonitor").symlink_to("../lib/kmonitor/kmonitor")
    share = usr / "share"
    _copy(clone / "resources/desktop/kmonitor.desktop", share / "applications")
    icons = share / "icons" / "hicolor"
    _copy(clone / "resources/icons/kmonitor.svg", icons / "scalable" / "apps")
    for picture in (clone / "resources/icons/program").glob("*.png"):
        place = icons / f"{picture.stem}x{picture.stem}" / "apps"
        _copy(picture, place).rename(place / "kmonitor.png")
    _write(share / "metainfo/kmonitor.metainfo.xml", metainfo(clone, contents.version, source))
    _copy(clone / "packaging/systemd/kmonitor-hub.service", usr / "lib/systemd/user")
    documents = share / "doc" / "kmonitor"
    _copy(clone / "packaging/debian/copyright", documents)
    # This way round: where documents are left out (dpkg's path-exclude) the licences still come.
    for name in contents.documents:
        (documents / name).symlink_to(f"../../../lib/kmonitor/{name}")
    _write_packed(documents / "CHANGELOG.md.gz", (clone / "CHANGELOG.md").read_bytes())
    _write_packed(documents / "changelog.gz", _changelog(contents.version, source).encode())
    overrides = share / "lintian" / "overrides"
    _copy(clone / "packaging/debian/lintian-overrides", overrides).rename(overrides / "kmonitor")
    scripts = clone / "resources" / "completion"
    for shell, folder, name in _COMPLETIONS:
        place = share / folder
        _copy(scripts / f"kmonitor.{shell}", place).rename(place / name)
    man = (clone / "packaging/debian/kmonitor.1").read_bytes()
    _write_packed(share / "man/man1/kmonitor.1.gz", man)


_COMPLETIONS = (
    ("bash", "bash-completion/completions", "kmonitor"),
    ("zsh", "zsh/vendor-completions", "_kmonitor"),
    ("fish", "fish/vendor_completions.d", "kmonitor.fish"),
)
"""Shell, folder below /usr/share where it looks for completions, and name there."""


def metainfo(clone: Path, version: str, source: Source) -> str:
    """The entry in software centres, with this version and the commit's day."""
    day = datetime.fromtimestamp(source.epoch_s, UTC).date().isoformat()
    text = (clone / "packaging/linux/kmonitor.metainfo.xml").read_text(encoding="utf-8")
    return text.replace("@VERSION@", version).replace("@DATE@", day)


def maintainer(environ: Mapping[str, str]) -> str:
    """Maintainer of the package, from the variables of Debian's tools; else `NOBODY`.

    Args:
        environ: Has `DEBFULLNAME` and `DEBEMAIL`, or not. Source: debchange(1).
    """
    name, address = environ.get("DEBFULLNAME", ""), environ.get("DEBEMAIL", "")
    return f"{name or 'kmonitor developers'} <{address}>" if address else NOBODY


def depends() -> str:
    """The packages that Qt needs for a window, as `Depends` writes them, libraries alone."""
    wanted = {"libstdc++6"} | {
        _RENAMED.get(one.package, one.package)
        for one in needed_libraries()
        if one.purpose in ("window", "x11", "wayland")
    }
    libc = os.confstr("CS_GNU_LIBC_VERSION") if hasattr(os, "confstr") else None
    # A program linked here may need symbols that are new in this machine's C library.
    least = f"libc6 (>= {libc.split()[1]})" if libc else "libc6"
    return ", ".join([least, *sorted(wanted)])


def _write_control(tree: Path, version: str, architecture: str, source: Source) -> None:
    n_bytes = sum(one.lstat().st_size for one in tree.rglob("*"))
    text = (source.tree / "packaging/debian/control.in").read_text(encoding="utf-8")
    fields = {
        "version": version,
        "maintainer": maintainer(os.environ),
        "architecture": architecture,
        "installed_kib": str(n_bytes // 1024),
        "depends": depends(),
    }
    _write(tree / "DEBIAN" / "control", text.format(**fields))


def _changelog(version: str, source: Source) -> str:
    """Debian's own, which has one entry: this version of this commit's time."""
    day = format_datetime(datetime.fromtimestamp(source.epoch_s, UTC))
    text = (source.tree / "packaging/debian/changelog.in").read_text(encoding="utf-8")
    return text.format(version=version, maintainer=maintainer(os.environ), day=day)


def _is_program(path: Path) -> bool:
    """True for a program: wheels mark their libraries as executable, too."""
    return ".so" not in path.suffixes and bool(path.stat().st_mode & 0o100)


def _copy(file: Path, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(file, folder))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _write_packed(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content, 9, mtime=0))
