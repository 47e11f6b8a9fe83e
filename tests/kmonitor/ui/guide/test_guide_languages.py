"""The guide says the same in each language: page by page, heading by heading, row by row."""

import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from kmonitor.base.installation import resource_path
from kmonitor.ui.guide.pages import heading_slug, reading_order

ENGLISH = resource_path("guide")
CHINESE = ENGLISH / "zh_CN"
PAGES = sorted(path.name for path in ENGLISH.glob("*.md"))
BOTH = [(folder, name) for folder in (ENGLISH, CHINESE) for name in PAGES]

_FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r"!\[[^]]*\]\((?:\.\./)?([^)]+)\)")
_LINK = re.compile(r"\]\(([\w-]*(?:\.md)?)(?:#([^)]+))?\)")


def text(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")


def code(page: str) -> list[str]:
    """Everything that is to be typed, in order."""
    return _FENCED.findall(page)


def prose(page: str) -> str:
    return _FENCED.sub("", page)


def shape(page: str) -> list[str]:
    """Level of each heading, columns of each row, and each item of a list, in order."""
    found: list[str] = []
    for line in prose(page).splitlines():
        if heading := re.match(r"#+(?= )", line):
            found.append(heading.group())
        elif line.startswith("|"):
            found.append("|" * len(re.findall(r"(?<!\\)\|", line)))
        elif item := re.match(r"(-|\d+\.) ", line):
            found.append(item.group(1))
    return found


def named(page: str) -> list[str]:
    """Code within sentences and cells, whatever its order."""
    return sorted(re.findall(r"`([^`]+)`", re.sub(r"\s*\n\s*", " ", prose(page))))


def emphasised(page: str) -> list[str]:
    """Names of buttons and menus, as far as they stand in *emphasis*."""
    plain = re.sub(r"\s+", " ", re.sub(r"`[^`]*`", "", prose(page)))
    return re.findall(r"(?<!\*)\*([^*]+)\*(?!\*)", plain)


@pytest.fixture(scope="module")
def catalogue() -> dict[str, set[str]]:
    """The window's Chinese texts, by the English text."""
    found: dict[str, set[str]] = {}
    tree = ET.parse(resource_path("languages", "kmonitor_zh_CN.ts"))  # noqa: S314 - ours
    for message in tree.iter("message"):
        source, said = message.findtext("source", ""), message.findtext("translation", "")
        found.setdefault(source, set()).add(said)
    return found


def test_each_page_is_there_in_chinese() -> None:
    assert sorted(path.name for path in CHINESE.glob("*.md")) == PAGES


@pytest.mark.parametrize("name", PAGES)
def test_headings_tables_and_lists_are_the_same(name: str) -> None:
    assert shape(text(CHINESE, name)) == shape(text(ENGLISH, name))


@pytest.mark.parametrize("name", PAGES)
def test_pictures_are_the_same(name: str) -> None:
    assert _PICTURE.findall(text(CHINESE, name)) == _PICTURE.findall(text(ENGLISH, name))


@pytest.mark.parametrize("name", PAGES)
def test_what_is_typed_is_the_same(name: str) -> None:
    assert code(text(CHINESE, name)) == code(text(ENGLISH, name))


@pytest.mark.parametrize("name", PAGES)
def test_names_of_commands_fields_and_files_are_the_same(name: str) -> None:
    assert named(text(CHINESE, name)) == named(text(ENGLISH, name))


@pytest.mark.parametrize("name", PAGES)
def test_buttons_are_called_what_the_window_calls_them(
    name: str, catalogue: dict[str, set[str]]
) -> None:
    chinese = set(emphasised(text(CHINESE, name)))
    english = {title.replace("...", "…") for title in emphasised(text(ENGLISH, name))}

    assert [title for title in english & set(catalogue) if not catalogue[title] & chinese] == []


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_to_the_same_pages(name: str) -> None:
    told = [_LINK.findall(prose(text(folder, name))) for folder in (CHINESE, ENGLISH)]

    assert sorted(page for page, _ in told[0]) == sorted(page for page, _ in told[1])


@pytest.mark.parametrize(("folder", "name"), BOTH, ids=lambda part: Path(part).name)
def test_links_and_headings_they_name_exist(folder: Path, name: str) -> None:
    for page, heading in _LINK.findall(prose(text(folder, name))):
        there = text(folder, page or name)
        assert not heading or heading in map(
            heading_slug, re.findall(r"^#+ (.+)$", there, re.MULTILINE)
        )


def test_pages_come_in_the_same_order() -> None:
    orders = [
        reading_order({name: text(folder, name) for name in PAGES})
        for folder in (ENGLISH, CHINESE)
    ]

    assert orders[0] == orders[1]


def test_a_chinese_heading_is_named_by_its_words() -> None:
    assert heading_slug("新的模型对象 `fit`, 从代码") == "新的模型对象-fit-从代码"


@pytest.mark.parametrize("name", PAGES)
def test_no_chinese_sentence_is_broken_by_the_end_of_a_line(name: str) -> None:
    """A reader of Markdown sets a space there, which Chinese does not have between words."""
    lines = prose(text(CHINESE, name)).splitlines()
    plain = re.compile(r"(?![#|>]|\s*(?:-|\d+\.) |\s*$)")

    assert [
        (above, line)
        for above, line in pairwise(lines)
        if plain.match(line) and above.strip() and not above.startswith(("#", "|"))
    ] == []
