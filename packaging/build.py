"""Makes what is handed out, of the clone's last commit, into `dist/`: `make dist`.

Names on the command line pick `PARTS`. `SHA256SUMS` names all files that were made.
"""

import argparse
import hashlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from kmonitor_release.app_folder import archive_name, make_folder, write_archive
from kmonitor_release.bill import bill_of_materials, licence_texts, shipped_parts
from kmonitor_release.commands import CannotBuild, tell
from kmonitor_release.debian_package import Contents, make_package
from kmonitor_release.distributions import make_distributions
from kmonitor_release.licences import read_rules
from kmonitor_release.packed_libraries import packed_libraries
from kmonitor_release.source import Source, take_source
from kmonitor_release.tools import Workshop, open_workshop
from kmonitor_setup.lock_file import read_lock

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / ".setup" / "release-work"
PARTS = {
    "python": "wheel and source, which every other part needs as well",
    "app": "the app as a folder, in one file, with its bill of materials and licences",
    "deb": "a Debian package of that folder",
}

CHECKSUMS = "SHA256SUMS"


@dataclass(frozen=True, slots=True)
class Release:
    """Inputs of every part.

    Attributes:
        source: The commit.
        workshop: The environment with the tools.
        version: Version of kmonitor in that commit.
        into: Folder that gets the files.
    """

    source: Source
    workshop: Workshop
    version: str
    into: Path


def main(arguments: list[str]) -> int:
    """Make the parts and give the exit status."""
    names = parts_asked(arguments)
    unknown = set(names) - set(PARTS)
    if unknown:
        print(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
        return 2
    try:
        made = build(names or list(PARTS), ROOT / "dist")
    except CannotBuild as exc:
        print(f"dist: FAILED: {exc}", file=sys.stderr)
        return 1
    for path in made:
        tell(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1e6:.1f} MB")
    return 0


def parts_asked(arguments: list[str]) -> list[str]:
    """The names on the command line.

    Raises:
        SystemExit: Help was requested, and printed, or an option does not exist.
    """
    told = "\n".join(f"  {name:8}{what}" for name, what in PARTS.items())
    parser = argparse.ArgumentParser(
        description="Makes what is handed out, of the clone's last commit, into dist/.",
        epilog=f"parts:\n{told}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="all where none is named")
    return parser.parse_args(arguments).parts


def build(names: list[str], into: Path) -> list[Path]:
    """Make some parts.

    Args:
        names: Names of the parts.
        into: Folder that gets them.

    Returns:
        The files, the checksums last.

    Raises:
        CannotBuild: With what failed.
    """
    into.mkdir(parents=True, exist_ok=True)
    source = take_source(ROOT, WORK / "source")
    workshop = open_workshop(ROOT, ROOT / ".setup" / "release")
    release = Release(source, workshop, _version(source), into)
    tell(f"kmonitor {release.version} of commit {source.commit[:12]}")
    both = make_distributions(workshop.python, source, WORK / "distributions", into)
    made = [both.wheel, both.sdist]
    if {"app", "deb"} & set(names):
        workshop.install(both.wheel)
        made += _packed(release, names)
    return [*made, write_checksums(made, into)]


def write_checksums(files: list[Path], into: Path) -> Path:
    """Write what `sha256sum --check` reads, about these files."""
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    path = into / CHECKSUMS
    path.write_text("".join(sorted(lines, key=lambda line: line.split()[1])), encoding="utf-8")
    return path


def _packed(release: Release, names: list[str]) -> list[Path]:
    source, workshop, version = release.source, release.workshop, release.version
    pins = read_lock(source.tree / "packaging" / "lock.txt")
    parts = shipped_parts(
        workshop.packages, pins, workshop.shipped, files=workshop.files(), rules=read_rules()
    )
    name = archive_name(version)
    tell("packing the app (takes minutes)")
    folder = make_folder(workshop.python, source, WORK / "app")
    libraries = packed_libraries(folder)
    documents = {
        f"{name}.cdx.json": bill_of_materials(version, source.epoch_s, parts, libraries),
        "LICENCES.txt": licence_texts(parts, libraries),
    }
    for file, text in documents.items():
        (folder / file).write_text(text, encoding="utf-8")
        (release.into / file).write_text(text, encoding="utf-8")
    made = [release.into / file for file in documents]
    if "app" in names:
        made.append(write_archive(folder, name, release.into, source.epoch_s))
    if "deb" in names:
        contents = Contents(folder, tuple(documents), version)
        made.append(make_package(contents, source, WORK / "deb", release.into))
    return made


def _version(source: Source) -> str:
    text = (source.tree / "kmonitor_agent" / "wire" / "release.py").read_text(encoding="utf-8")
    found = re.search(r'VERSION: Final = "([^"]+)"', text)
    if found is None:
        raise CannotBuild("kmonitor_agent/wire/release.py says no version")
    return found[1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
