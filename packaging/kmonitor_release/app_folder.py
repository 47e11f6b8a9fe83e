"""The app as a folder that needs no Python, packed by PyInstaller, and that folder as one file."""

import gzip
import platform
import shutil
import sys
import tarfile
from pathlib import Path

from kmonitor_release.commands import run
from kmonitor_release.source import Source

PROGRAM = "kmonitor"


def make_folder(python: Path, source: Source, work: Path) -> Path:
    """Pack the app.

    Args:
        python: Python of an environment that has kmonitor's wheel and PyInstaller.
        source: The commit; its spec is taken.
        work: Folder for what PyInstaller makes.

    Returns:
        The folder, with the program in it.

    Raises:
        CannotBuild: PyInstaller failed, or what it made does not start.
    """
    shutil.rmtree(work, ignore_errors=True)
    made = work / "made"
    spec = source.tree / "packaging" / "pyinstaller" / "kmonitor.spec"
    options = ["--noconfirm", "--log-level=WARN", f"--distpath={made}", f"--workpath={work}/work"]
    work.mkdir(parents=True)
    # In a folder with no packages of ours: the wheel's are to be found, not a clone's.
    environ = {**source.environ(), "PYTHONSAFEPATH": "1"}
    command = [python, "-m", "PyInstaller", *options, spec]
    run(command, what="the app", cwd=work, environ=environ)
    program = made / PROGRAM / PROGRAM
    run([program, "--version"], what="the packed app does not start")
    return made / PROGRAM


def archive_name(version: str) -> str:
    """Name of the folder in a release: with version, system and machine."""
    system = {"win32": "windows", "darwin": "macos"}.get(sys.platform, "linux")
    return f"kmonitor-{version}-{system}-{platform.machine().lower()}"


def write_archive(folder: Path, name: str, into: Path, epoch_s: int) -> Path:
    """Write a folder as `NAME.tar.gz`, with the commit's time, in order, and without an owner.

    Args:
        folder: The folder to pack.
        name: Name of the archive, and of the folder in it.
        into: Folder that gets the archive.
        epoch_s: Time of every entry, seconds since 1970.
    """
    target = into / f"{name}.tar.gz"

    def settled(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = epoch_s, 0, 0, "", ""
        entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
        return entry

    with (
        target.open("wb") as file,
        gzip.GzipFile("", "wb", 6, file, mtime=epoch_s) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for path in [folder, *sorted(folder.rglob("*"))]:
            inside = Path(name) / path.relative_to(folder)
            archive.add(path, str(inside), recursive=False, filter=settled)
    return target
