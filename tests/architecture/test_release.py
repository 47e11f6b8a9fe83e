"""One version, said in one place, and nothing in the project that only holds on one machine."""

import re
import subprocess
import tomllib

import pytest

from kmonitor_agent.wire.release import VERSION
from tests.support.source_tree import ROOT, product_files

TOP_LEVEL = {
    *(".ci", ".editorconfig", ".gitattributes", ".gitignore", ".pre-commit-config.yaml"),
    *("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md"),
    *("SECURITY.md", "pyproject.toml"),
    *("kmonitor", "kmonitor_agent", "packaging", "resources", "tests"),
}

_SOMEBODYS_FOLDER = re.compile(r"(?<![\w.$}])/(?:home|Users|root|work|mnt|opt)/\w+")

_INDEX = re.compile(r"(?:https?|file|git\+\w+)://|--(?:index|extra-index|find-links|trusted)")


def test_the_package_takes_its_version_from_the_program():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    source = settings["tool"]["hatch"]["version"]
    text = (ROOT / source["path"]).read_text(encoding="utf-8")

    assert "version" not in settings["project"]
    assert re.findall(source["pattern"], text) == [VERSION]


def test_the_changelog_knows_this_version():
    assert f"## [{VERSION}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_no_program_file_names_a_folder_of_one_machine():
    named = [
        f"{file.name}:{number} {found[0]}"
        for file in product_files()
        for number, line in enumerate(file.text.splitlines(), start=1)
        if (found := _SOMEBODYS_FOLDER.search(line))
    ]

    assert not named


def test_the_lock_and_the_scripts_name_no_package_index():
    files = [ROOT / "packaging" / "lock.txt", ROOT / "Makefile", ROOT / ".ci" / "run"]
    files += sorted((ROOT / "packaging").rglob("*.sh"))

    for file in files:
        assert not _INDEX.search(file.read_text(encoding="utf-8")), file


def test_nothing_lies_at_the_top_beyond_what_is_agreed():
    listed = subprocess.run(
        ["git", "ls-files"],  # noqa: S607 - the contributor's own git
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode != 0:
        pytest.skip("not a git clone")

    assert {name.partition("/")[0] for name in listed.stdout.splitlines()} <= TOP_LEVEL
