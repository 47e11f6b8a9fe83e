"""The guide is true where that can be checked."""

import re

import pytest

from kmonitor.base.installation import resource_path
from kmonitor.cli.main import build_app
from kmonitor.hub.ingest.liveness import SILENT_AFTER_S
from kmonitor_agent.wire.messages.commands import LIMIT_ACTIONS, LIMIT_METRICS
from tests.support.guide_fields import field_rows, heading, structs_that_leave

PAGES = sorted(path.name for path in resource_path("guide").glob("*.md"))


def page(name: str) -> str:
    return resource_path("guide", name).read_text(encoding="utf-8")


@pytest.mark.parametrize("struct", structs_that_leave(), ids=lambda struct: struct.__name__)
def test_every_field_that_leaves_the_process_is_listed(struct: type):
    section = page("files-and-privacy.md").partition(heading(struct) + "\n")[2]
    listed = section.partition("\n**")[0].splitlines()

    absent = [row for row in field_rows(struct) if row not in listed]

    assert not absent, "print the table anew: python -m tests.support.guide_fields"


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_to_pages_that_exist(name: str):
    links = re.findall(r"(?<!!)\[[^]]*\]\(([^)#]+)\)", page(name))

    assert [link for link in links if "://" not in link and link not in PAGES] == []


@pytest.mark.parametrize("folder", ["", "zh_CN"])
def test_pictures_of_pages_exist(folder: str):
    pages = sorted(resource_path("guide", folder).glob("*.md"))
    pictures = [
        (path.parent / link).resolve()
        for path in pages
        for link in re.findall(r"!\[[^]]*\]\(([^)]+)\)", path.read_text(encoding="utf-8"))
    ]

    assert pictures
    assert [picture for picture in pictures if not picture.is_file()] == []


def test_the_first_page_leads_to_every_other():
    assert [
        name for name in PAGES if name != "index.md" and f"({name})" not in page("index.md")
    ] == []


def test_every_command_is_in_the_guide():
    names = [name for name in build_app() if not name.startswith("-")]

    assert names
    assert [name for name in names if f"`kmonitor {name}" not in page("command-line.md")] == []


def test_every_metric_and_action_of_a_limit_is_in_the_guide():
    text = page("limits-and-actions.md")

    assert [word for word in (*LIMIT_METRICS, *LIMIT_ACTIONS) if f"`{word}`" not in text] == []


@pytest.mark.promise(13)
def test_what_private_runs_hide_is_in_the_guide():
    section = page("files-and-privacy.md").partition("| with `private=True`")[2]
    hashed = next(line for line in section.splitlines() if line.startswith("| hashed"))

    for word in ("run name", "host", "user", "job", "models", "layers", "`val_loss`"):
        assert word in hashed


def test_the_guide_says_how_long_silence_lasts_before_it_is_told():
    assert f"for {SILENT_AFTER_S:g} seconds" in page("charts-and-numbers.md")
