"""Each dependency has its reason, and nothing comes along under a licence that is not allowed."""

import importlib.metadata
import tomllib
from email.message import Message
from pathlib import Path

import pytest
from kmonitor_release.licences import UNKNOWN, Rules, is_allowed, licence_of, own_text, read_rules
from kmonitor_setup.lock_file import plain_name, read_lock
from typing_extensions import override

from tests.support.source_tree import ROOT

RULES = read_rules()

ONLY = Rules({}, frozenset({"MIT", "BSD-3-Clause"}), {"odd": "BSD-3-Clause"}, {})


class Said(importlib.metadata.Distribution):
    """A distribution that says no more of itself than a test gives it."""

    def __init__(self, name: str, **said: str) -> None:
        message = Message()
        message["Name"] = name
        for field, text in said.items():
            message[field.replace("_", "-")] = text
        self._text = message.as_string()

    @override
    def read_text(self, filename: str) -> str | None:
        return self._text if filename == "METADATA" else None

    @override
    def locate_file(self, path: object) -> Path:
        raise FileNotFoundError(path)


def asked_for() -> set[str]:
    """Names of all that pyproject.toml itself requires."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    groups += settings["dependency-groups"].values()
    return {plain_name(one) for group in groups for one in group}


@pytest.mark.promise(36)
def test_each_dependency_says_in_a_line_why_it_is_there():
    assert set(RULES.why) == asked_for(), "see packaging/dependencies.toml"
    assert all(reason.strip() and "\n" not in reason for reason in RULES.why.values())


@pytest.mark.promise(36)
def test_everything_that_is_locked_and_installed_has_an_allowed_licence():
    names = {pin.name for pin in read_lock(ROOT / "packaging" / "lock.txt")}
    found = {
        name: licence_of(one, RULES)
        for one in importlib.metadata.distributions()
        if (name := plain_name(one.metadata["Name"])) in names
    }

    assert len(found) > 20
    refused = {name: one for name, one in found.items() if not is_allowed(one, RULES)}
    assert refused == {}, "look its licence up, and see packaging/dependencies.toml"


def test_no_licence_is_looked_up_for_a_package_that_is_not_locked():
    names = {pin.name for pin in read_lock(ROOT / "packaging" / "lock.txt")}

    assert (set(RULES.looked_up) | set(RULES.texts)) - names == set()
    assert all(own_text(one) for texts in RULES.texts.values() for one in texts)


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("MIT AND BSD-3-Clause", True),
        ("MIT AND GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only OR MIT AND AGPL-3.0-only", False),
        ("(MIT)", False),
        (UNKNOWN, False),
    ],
)
def test_an_alternative_is_enough_and_a_part_is_not(expression: str, *, allowed: bool):
    assert is_allowed(expression, ONLY) is allowed


@pytest.mark.parametrize(
    ("said", "licence"),
    [
        ({"License_Expression": "MIT", "License": "GPL"}, "MIT"),
        ({"License": "mit License"}, "MIT"),
        ({"License": "LGPL-3.0-only OR GPL-2.0-only"}, "LGPL-3.0-only OR GPL-2.0-only"),
        ({"Classifier": "License :: OSI Approved :: MIT License"}, "MIT"),
        ({"License": "BSD", "Classifier": "License :: OSI Approved :: BSD License"}, UNKNOWN),
        ({}, UNKNOWN),
    ],
)
def test_a_licence_is_read_where_packages_write_it(said: dict[str, str], licence: str):
    assert licence_of(Said("plain", **said), ONLY) == licence


def test_what_was_looked_up_goes_before_what_a_package_says():
    assert licence_of(Said("Odd", License="MIT"), ONLY) == "BSD-3-Clause"
