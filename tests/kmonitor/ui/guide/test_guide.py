"""Targets of the guide's headings, and search for words."""

import re

import pytest

from kmonitor.base.installation import resource_path
from kmonitor.ui.guide.pages import (
    GuideMatch,
    find_matches,
    heading_slug,
    next_match,
    read_pages,
    reading_order,
)

PAGES = {path.name: path.read_text("utf-8") for path in resource_path("guide").glob("*.md")}
FEW = {"index.md": "See [b](b.md)", "a.md": "leak", "b.md": "A Leak and a leak"}


@pytest.mark.parametrize("name", sorted(PAGES))
def test_links_to_headings_lead_to_headings_that_exist(name: str):
    for page, heading in re.findall(r"\]\(([\w-]*(?:\.md)?)#([\w-]+)\)", PAGES[name]):
        heads = re.findall(r"^#+ (.+)$", PAGES[page or name], re.MULTILINE)
        assert heading in [heading_slug(head) for head in heads]


def test_a_heading_is_named_as_links_name_it():
    assert heading_slug("What Qt's *run* says: 2 things") == "what-qts-run-says-2-things"


def test_pages_are_read_in_the_order_of_the_first():
    assert reading_order(FEW) == ["index.md", "b.md", "a.md"]


def test_words_are_found_on_all_pages_whatever_their_case():
    found = find_matches(FEW, reading_order(FEW), " LEAK ")

    assert found == [GuideMatch("b.md", 0), GuideMatch("b.md", 1), GuideMatch("a.md", 0)]
    assert find_matches(FEW, reading_order(FEW), "  ") == []


def test_a_search_goes_on_from_page_to_page_and_around():
    found = find_matches(FEW, reading_order(FEW), "leak")

    assert next_match(found, "a.md", None) == GuideMatch("a.md", 0)
    assert next_match(found, "index.md", None) == found[0]
    assert next_match(found, "b.md", found[0]) == found[1]
    assert next_match(found, "b.md", found[2]) == found[0]
    assert next_match([], "b.md", None) is None


def test_pages_of_the_window_have_no_pictures():
    assert [name for name, text in read_pages().items() if "![" in text] == []
