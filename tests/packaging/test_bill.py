"""The bill of materials lists each part that is shipped, its licence and what it needs."""

import hashlib
import json
import re
from pathlib import Path

import pytest
from kmonitor_release.bill import Part, bill_of_materials, licence_texts, shipped_parts
from kmonitor_release.commands import CannotBuild
from kmonitor_release.licences import Rules
from kmonitor_release.packed_libraries import PackedLibrary, packed_libraries
from kmonitor_setup.lock_file import Pin

RULES = Rules({}, frozenset({"MIT", "BSD-3-Clause"}), {}, {"bare": ["nvidia-ml-py"]})

LIBRARIES = [
    PackedLibrary(
        "libssl.so.3", "Apache-2.0", "5" * 64, "3.0.1-2", "pkg:deb/debian/libssl3@3.0.1-2"
    ),
    PackedLibrary("libz.so.1", "Zlib", "6" * 64),
]

PINS = [
    Pin("drawing", "drawing==1.0", ("sha256:aa",), frozenset({"kmonitor-keras"})),
    Pin("numbers", "numbers==2.0 ; python_full_version < '3.12'", (), frozenset({"drawing"})),
    Pin("numbers", "numbers==2.1", ("sha256:bb", "sha256:cc"), frozenset({"drawing"})),
    Pin("tool", "tool==3", (), frozenset({"kmonitor-keras"})),
]

FILES = {"drawing": "sha256:aa", "numbers": "sha256:cc"}


def installed(folder: Path, name: str, version: str, licence: str) -> None:
    """Files of an installed package, without its code."""
    told = folder / f"{name}-{version}.dist-info"
    told.mkdir(parents=True)
    head = f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n"
    (told / "METADATA").write_text(f"{head}License-Expression: {licence}\n")
    record = f"{told.name}/METADATA,,\n"
    if name != "bare":
        (told / "LICENSE.txt").write_text(f"You may use {name}.\n")
        record += f"{told.name}/LICENSE.txt,,\n"
    (told / "RECORD").write_text(record)


@pytest.fixture
def parts(tmp_path: Path) -> list[Part]:
    installed(tmp_path, "Drawing", "1.0", "MIT")
    installed(tmp_path, "numbers", "2.1", "BSD-3-Clause")
    installed(tmp_path, "tool", "3", "MIT")
    return shipped_parts(tmp_path, PINS, ["drawing>=1"], files=FILES, rules=RULES)


def test_only_what_the_app_needs_is_told(parts: list[Part]):
    assert [(one.name, one.version, one.licence, one.needs) for one in parts] == [
        ("drawing", "1.0", "MIT", ("numbers",)),
        ("numbers", "2.1", "BSD-3-Clause", ()),
    ]


@pytest.mark.parametrize("files", [{"drawing": "sha256:aa"}, {**FILES, "numbers": "sha256:dd"}])
def test_a_package_that_is_no_file_of_the_lock_stops_the_release(
    tmp_path: Path, parts: list[Part], files: dict[str, str]
):
    assert parts
    with pytest.raises(CannotBuild, match=r"not installed from the lock's files: numbers$"):
        shipped_parts(tmp_path, PINS, ["drawing>=1"], files=files, rules=RULES)


@pytest.mark.promise(38)
def test_the_bill_tells_the_hash_of_the_one_file_that_was_installed(parts: list[Part]):
    bill = json.loads(bill_of_materials("0.9", 86_400, parts, LIBRARIES))

    told = {one["name"]: one["hashes"] for one in bill["components"] if "hashes" in one}
    assert told["drawing"] == [{"alg": "SHA-256", "content": "aa"}]
    assert told["numbers"] == [{"alg": "SHA-256", "content": "cc"}]


def test_the_bill_names_versions_licences_and_who_needs_whom(parts: list[Part]):
    bill = json.loads(bill_of_materials("0.9", 86_400, parts, LIBRARIES))

    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert bill["metadata"]["timestamp"] == "1970-01-02T00:00:00+00:00"
    assert bill["metadata"]["component"]["version"] == "0.9"
    found = {one["name"]: one for one in bill["components"]}
    assert found["drawing"]["purl"] == "pkg:pypi/drawing@1.0"
    assert found["numbers"]["licenses"] == [{"expression": "BSD-3-Clause"}]
    assert found["libssl.so.3"]["hashes"] == [{"alg": "SHA-256", "content": "5" * 64}]
    assert found["libssl.so.3"]["version"] == "3.0.1-2"
    assert found["libssl.so.3"]["purl"] == "pkg:deb/debian/libssl3@3.0.1-2"
    assert not {"version", "purl"} & set(found["libz.so.1"])
    assert found["libssl.so.3"]["licenses"] == [{"expression": "Apache-2.0"}]
    assert found["python"]["licenses"] == [{"license": {"id": "PSF-2.0"}}]
    tied = {one["ref"]: one["dependsOn"] for one in bill["dependencies"]}
    assert tied["pkg:pypi/drawing@1.0"] == ["pkg:pypi/numbers@2.1"]
    assert set(tied["pkg:pypi/kmonitor-keras@0.9"]) == {one["bom-ref"] for one in found.values()}


def test_the_same_contents_make_the_same_bill(parts: list[Part]):
    first, again = (bill_of_materials("0.9", 5, parts, LIBRARIES) for _ in range(2))

    assert first == again
    assert bill_of_materials("0.9", 5, parts, []) != first


@pytest.mark.promise(38)
def test_every_licence_is_told_in_full(parts: list[Part]):
    text = licence_texts(parts, LIBRARIES)

    assert "drawing 1.0" in text
    assert "BSD-3-Clause" in text
    assert re.search(r"libssl\.so\.3 3\.0\.1-2 +Apache-2\.0", text)
    assert "You may use numbers." in text
    assert "You may use tool." not in text


def test_a_licence_that_may_not_come_along_stops_the_release(tmp_path: Path):
    installed(tmp_path, "drawing", "1.0", "AGPL-3.0-only")

    with pytest.raises(CannotBuild, match="drawing: AGPL"):
        shipped_parts(tmp_path, PINS, ["drawing"], files=FILES, rules=RULES)


def test_a_package_without_a_text_gets_ours_or_stops_the_release(tmp_path: Path):
    installed(tmp_path, "bare", "1.0", "MIT")
    pins = [Pin("bare", "bare==1.0", ("sha256:ee",), frozenset())]
    files = {"bare": "sha256:ee"}

    (part,) = shipped_parts(tmp_path, pins, ["bare"], files=files, rules=RULES)
    assert [name for name, _ in part.texts] == ["nvidia-ml-py"]
    bare = Rules({}, RULES.allowed, {}, {})
    with pytest.raises(CannotBuild, match="no text of their licence is to be had: bare"):
        shipped_parts(tmp_path, pins, ["bare"], files=files, rules=bare)


def test_a_library_that_came_with_python_or_in_a_wheel_is_told_or_stops_the_release(
    tmp_path: Path,
):
    inner = tmp_path / "_internal"
    (inner / "Qt").mkdir(parents=True)
    (inner / "libssl.so.3").write_bytes(b"")
    (inner / "Qt" / "libQt6Core.so.6").touch()
    (inner / "libQt6Core.so.6").symlink_to("Qt/libQt6Core.so.6")

    (found,) = packed_libraries(tmp_path)
    assert (found.name, found.licence) == ("libssl.so.3", "Apache-2.0")
    assert found.sha256 == hashlib.sha256(b"").hexdigest()
    wheels = inner / "psycopg_binary.libs"
    wheels.mkdir()
    (wheels / "libk5crypto-459efceb.so.3.1").touch()
    (inner / "libk5crypto-459efceb.so.3.1").symlink_to("psycopg_binary.libs/libk5crypto")
    assert [one.licence for one in packed_libraries(tmp_path)] == ["Apache-2.0", "MIT"]
    (wheels / "libunknown-1.so.2").touch()
    with pytest.raises(CannotBuild, match="libunknown"):
        packed_libraries(tmp_path)
    (wheels / "libunknown-1.so.2").unlink()
    (inner / "libreadline.so.8").touch()
    with pytest.raises(CannotBuild, match="libreadline"):
        packed_libraries(tmp_path)
