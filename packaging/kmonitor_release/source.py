"""The commit that a release is made of: its files alone, and its time."""

import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from kmonitor_release.commands import CannotBuild, tell


@dataclass(frozen=True, slots=True)
class Source:
    """Source of a build.

    Attributes:
        tree: Folder with the commit's files and nothing else.
        commit: Its id.
        epoch_s: Its time, seconds since 1970: the time of every file in the release.
    """

    tree: Path
    commit: str
    epoch_s: int

    def environ(self) -> dict[str, str]:
        """Variables that have tools write the commit's time instead of their own."""
        # The order of sets goes into what PyInstaller and compiled Python write.
        return {"SOURCE_DATE_EPOCH": str(self.epoch_s), "PYTHONHASHSEED": "1", "TZ": "UTC"}


def take_source(root: Path, tree: Path) -> Source:
    """Write the clone's last commit into `tree`, which is emptied first.

    Raises:
        CannotBuild: This is no clone with a commit.
    """
    commit = _git(root, "rev-parse", "HEAD").decode().strip()
    epoch_s = int(_git(root, "log", "-1", "--format=%ct", "HEAD"))
    changed = _git(root, "status", "--porcelain").decode().splitlines()
    if changed:
        tell(f"{len(changed)} files with changes that are not committed: they are left out")
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    with tarfile.open(fileobj=BytesIO(_git(root, "archive", "HEAD"))) as archive:
        archive.extractall(tree, filter="data")
    return Source(tree, commit, epoch_s)


def _git(root: Path, *words: str) -> bytes:
    try:
        told = subprocess.run(
            ["git", "-C", str(root), *words],  # noqa: S607 - the contributor's own git
            capture_output=True,
            check=False,
        )
    except OSError as exc:
        raise CannotBuild("a release is made of a commit, and there is no git here") from exc
    if told.returncode != 0:
        why = told.stderr.decode(errors="replace").strip()
        raise CannotBuild(f"a release is made of a commit: {why}")
    return told.stdout
