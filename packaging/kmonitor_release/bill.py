"""Contents of the packed app: a bill of materials (CycloneDX), and all licences in full.

Source: CycloneDX 1.6, JSON; package URL specification, type pypi.
"""

import json
import platform
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import Distribution, distributions
from pathlib import Path

from kmonitor_setup.lock_file import Pin, part_for, plain_name

from kmonitor_release.commands import CannotBuild
from kmonitor_release.licences import Rules, is_allowed, licence_of, own_text
from kmonitor_release.packed_libraries import PackedLibrary, python_licence

PROJECT = "kmonitor-keras"

_LICENCE_FILES = ("licen", "copying", "notice", "authors")
"""Parts of the names of files with a licence's text, in small letters."""

_NO_TEXTS = frozenset({".py", ".pyc", ".pyi", ".so", ".dll", ".pyd"})

_NAMESPACE = uuid.UUID("6f0c5d0e-6a0b-5b58-9d5c-0d2a3b8c7e11")
"""Namespace of our bills' serial numbers: the same contents get the same number."""


@dataclass(frozen=True, slots=True)
class Part:
    """One package that is shipped.

    Attributes:
        name: As an index spells it.
        version: The installed one.
        licence: An SPDX expression.
        sha256: Hash of the locked file that it was installed from, in hexadecimal.
        needs: Names of the parts that it needs.
        texts: Its licence files: name and text.
    """

    name: str
    version: str
    licence: str
    sha256: str
    needs: tuple[str, ...]
    texts: tuple[tuple[str, str], ...]


def shipped_parts(
    packages: Path,
    pins: Sequence[Pin],
    requirements: Iterable[str],
    *,
    files: Mapping[str, str],
    rules: Rules,
) -> list[Part]:
    """Installed packages that requirements bring along, in order of names.

    Args:
        packages: Folder that they are installed in.
        pins: Pins from the lock.
        requirements: Requirements of the app.
        files: The hash of the file that each package was installed from, "sha256:...", by name.
        rules: Rules for licences.

    Raises:
        CannotBuild: A licence is not allowed, its text is nowhere, or a package was not installed
            from a file of the lock.
    """
    part = part_for(pins, requirements)
    installed = {
        plain_name(one.metadata["Name"]): one for one in distributions(path=[str(packages)])
    }
    here = {pin.name for pin in part if pin.name in installed}
    unlocked = [
        one for one in sorted(here) if not _is_locked(part, installed[one], files.get(one))
    ]
    if unlocked:
        raise CannotBuild(f"not installed from the lock's files: {', '.join(unlocked)}")
    parts = [_part(installed[one], part, files[one], rules) for one in sorted(here)]
    refused = [f"{one.name}: {one.licence}" for one in parts if not is_allowed(one.licence, rules)]
    if refused:
        raise CannotBuild(f"these licences may not come along: {', '.join(refused)}")
    textless = [one.name for one in parts if not one.texts]
    if textless:
        raise CannotBuild(f"no text of their licence is to be had: {', '.join(textless)}")
    return parts


def bill_of_materials(
    version: str, epoch_s: int, parts: Sequence[Part], libraries: Sequence[PackedLibrary]
) -> str:
    """The bill as CycloneDX writes it, the same text for the same contents.

    Args:
        version: Version of kmonitor.
        epoch_s: Time of the release's commit, seconds since 1970.
        parts: The shipped packages, without kmonitor and Python.
        libraries: Libraries that were packed with Python.
    """
    python = _python()
    root = f"pkg:pypi/{PROJECT}@{version}"
    components = [_component(one) for one in parts] + [python]
    components += [_library(one) for one in libraries]
    direct = [one["bom-ref"] for one in components]
    tied = [{"ref": root, "dependsOn": direct}]
    known = {one.name: _reference(one) for one in parts}
    for one in parts:
        needs = sorted(known[name] for name in one.needs if name in known)
        tied.append({"ref": _reference(one), "dependsOn": needs})
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch_s, UTC).isoformat(),
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": PROJECT,
                "version": version,
                "purl": root,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            },
        },
        "components": components,
        "dependencies": tied,
    }
    number = uuid.uuid5(_NAMESPACE, json.dumps(bill, sort_keys=True))
    return json.dumps({**bill, "serialNumber": f"urn:uuid:{number}"}, indent=2) + "\n"


def licence_texts(parts: Sequence[Part], libraries: Sequence[PackedLibrary]) -> str:
    """A list of what is shipped with each licence, then the texts in full."""
    rows = [(f"{one.name} {one.version}", one.licence) for one in parts]
    rows += [(f"Python {platform.python_version()}", "PSF-2.0")]
    rows += [(f"{one.name} {one.version or ''}".rstrip(), one.licence) for one in libraries]
    width = max(len(name) for name, _ in rows)
    lines = ["What the packed kmonitor holds beside itself, and under which licence.", ""]
    lines += [f"{name.ljust(width)}  {licence}" for name, licence in rows]
    lines += [
        "",
        "Qt and Qt for Python are used under the LGPL-3.0. Their libraries are files of their own",
        "in the app's folder and can be replaced by others of the same interface.",
    ]
    texts = [
        (f"{one.name} {one.version}: {name}", text) for one in parts for name, text in one.texts
    ]
    for title, text in [*texts, ("Python", python_licence())]:
        lines += ["", "=" * 72, title, "=" * 72, "", text.rstrip()]
    return "\n".join(lines) + "\n"


def _part(found: Distribution, part: Sequence[Pin], hashed: str, rules: Rules) -> Part:
    name = plain_name(found.metadata["Name"])
    sha256 = hashed.removeprefix("sha256:")
    needs = tuple(sorted({pin.name for pin in part if name in pin.wanted_by}))
    texts: list[tuple[str, str]] = []
    for file in found.files or ():
        low = file.name.lower()
        if any(sign in low for sign in _LICENCE_FILES) and file.suffix not in _NO_TEXTS:
            path = Path(str(found.locate_file(file)))
            texts.append((str(file), path.read_text("utf-8", "replace")))
    texts += [(one, own_text(one)) for one in rules.texts.get(name, ())]
    return Part(name, found.version, licence_of(found, rules), sha256, needs, tuple(sorted(texts)))


def _is_locked(part: Sequence[Pin], found: Distribution, hashed: str | None) -> bool:
    name = plain_name(found.metadata["Name"])
    return any(pin.name == name and hashed in pin.hashes for pin in part)


def _reference(part: Part) -> str:
    return f"pkg:pypi/{part.name}@{part.version}"


def _component(part: Part) -> dict[str, object]:
    return {
        "type": "library",
        "bom-ref": _reference(part),
        "name": part.name,
        "version": part.version,
        "purl": _reference(part),
        "hashes": [{"alg": "SHA-256", "content": part.sha256}],
        "licenses": [{"expression": part.licence}],
    }


def _library(library: PackedLibrary) -> dict[str, object]:
    known = {"version": library.version, "purl": library.url}
    return {
        "type": "file",
        "bom-ref": f"file:{library.name}",
        "name": library.name,
        **{field: value for field, value in known.items() if value},
        "hashes": [{"alg": "SHA-256", "content": library.sha256}],
        "licenses": [{"expression": library.licence}],
    }


def _python() -> dict[str, object]:
    version = platform.python_version()
    reference = f"pkg:generic/python@{version}"
    told: dict[str, object] = {"type": "platform", "bom-ref": reference, "name": "python"}
    return {
        **told,
        "version": version,
        "purl": reference,
        "licenses": [{"license": {"id": "PSF-2.0"}}],
    }
