"""The bill of materials tells each part that is shipped, its licence and what it needs."""

import json
from pathlib import Path

import pytest
from kmonitor_release.bill import Part, bill_of_materials, licence_texts, shipped_parts
from kmonitor_release.commands import CannotBuild
from kmonitor_release.licences import Rules
from kmonitor_setup.lock_file import Pin

RULES = Rules({}, frozenset({"MIT", "BSD-3-Clause"}), {})

PINS = [
    Pin("drawing", "drawing==1.0", ("sha256:aa",), frozenset({"kmonitor-keras"})),
    Pin("numbers", "numbers==2.0 ; python_full_version < '3.12'", (), frozenset({"drawing"})),
    Pin("numbers", "numbers==2.1", ("sha256:bb", "sha256:cc"), frozenset({"drawing"})),
    Pin("tool", "tool==3", (), frozenset({"kmonitor-keras"})),
]


def installed(folder: Path, name: str, version: str, licence: str) -> None:
    """What an installation leaves of a package, without its code."""
    told = folder / f"{name}-{version}.dist-info"
    told.mkdir(parents=True)
    head = f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n"
    (told / "METADATA").write_text(f"{head}License-Expression: {licence}\n")
    (told / "LICENSE.txt").write_text(f"You may use {name}.\n")
    (told / "RECORD").write_text(f"{told.name}/METADATA,,\n{told.name}/LICENSE.txt,,\n")


@pytest.fixture
def parts(tmp_path: Path) -> list[Part]:
    installed(tmp_path, "Drawing", "1.0", "MIT")
    installed(tmp_path, "numbers", "2.1", "BSD-3-Clause")
    installed(tmp_path, "tool", "3", "MIT")
    return shipped_parts(tmp_path, PINS, ["drawing>=1"], RULES)


def test_only_what_the_app_needs_is_told(parts: list[Part]):
    assert [(one.name, one.version, one.licence, one.needs) for one in parts] == [
        ("drawing", "1.0", "MIT", ("numbers",)),
        ("numbers", "2.1", "BSD-3-Clause", ()),
    ]
    assert parts[1].hashes == ("sha256:bb", "sha256:cc")


def test_the_bill_names_versions_licences_and_who_needs_whom(parts: list[Part]):
    bill = json.loads(bill_of_materials("0.9", 86_400, parts))

    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert bill["metadata"]["timestamp"] == "1970-01-02T00:00:00+00:00"
    assert bill["metadata"]["component"]["version"] == "0.9"
    found = {one["name"]: one for one in bill["components"]}
    assert found["drawing"]["purl"] == "pkg:pypi/drawing@1.0"
    assert found["numbers"]["licenses"] == [{"expression": "BSD-3-Clause"}]
    assert found["python"]["licenses"] == [{"license": {"id": "PSF-2.0"}}]
    tied = {one["ref"]: one["dependsOn"] for one in bill["dependencies"]}
    assert tied["pkg:pypi/drawing@1.0"] == ["pkg:pypi/numbers@2.1"]
    assert set(tied["pkg:pypi/kmonitor-keras@0.9"]) == {one["bom-ref"] for one in found.values()}


def test_the_same_contents_make_the_same_bill(parts: list[Part]):
    first, again = (bill_of_materials("0.9", 5, parts) for _ in range(2))

    assert first == again
    assert bill_of_materials("0.9", 5, parts[:1]) != first


def test_every_licence_is_told_in_full(parts: list[Part]):
    text = licence_texts(parts)

    assert "drawing 1.0" in text
    assert "BSD-3-Clause" in text
    assert "You may use numbers." in text
    assert "You may use tool." not in text


def test_a_licence_that_may_not_come_along_stops_the_release(tmp_path: Path):
    installed(tmp_path, "drawing", "1.0", "AGPL-3.0-only")

    with pytest.raises(CannotBuild, match="drawing: AGPL"):
        shipped_parts(tmp_path, PINS, ["drawing"], RULES)
