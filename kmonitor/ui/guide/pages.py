"""Pages of the guide in the language in force, else in English: text, order, and search."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kmonitor.base.installation import resource_path
from kmonitor.ui.text.language import language_tag

FIRST_PAGE: Final = "index.md"
_LINK: Final = re.compile(r"\]\(([\w-]+\.md)")
_PICTURE: Final = re.compile(r"^ *!\[.*\]\(.*\)\n\n?", re.MULTILINE)
_NO_LETTER: Final = re.compile(r"[^\w\- ]")


def read_page(name: str) -> str | None:
    """Return one page as Markdown, without pictures; None if no page has that name.

    Pictures are for readers elsewhere: Qt draws a terminal's SVG without its font.

    Args:
        name: File name of the page, the same in every language; only the last part of a path is
            used.
    """
    for folder in _folders():
        page = folder / Path(name).name
        if page.is_file():
            return _PICTURE.sub("", page.read_text(encoding="utf-8"))
    return None


def read_pages() -> dict[str, str]:
    """Return every page as Markdown, by its file name."""
    names = {page.name for folder in _folders() for page in folder.glob("*.md")}
    read = {name: read_page(name) for name in sorted(names)}
    return {name: text for name, text in read.items() if text is not None}


def _folders() -> list[Path]:
    """Folder of the language in force, if it has one, then that of the English pages."""
    found: list[Path] = []
    for path_parts in (("guide", language_tag().replace("-", "_")), ("guide",)):
        try:
            found.append(resource_path(*path_parts))
        except FileNotFoundError:
            continue
    return found


def reading_order(pages: Mapping[str, str]) -> list[str]:
    """Return the page names in the order of the first page; pages that it does not list come last.

    Args:
        pages: Text by file name.
    """
    listed = _LINK.findall(pages.get(FIRST_PAGE, ""))
    order = [FIRST_PAGE, *listed, *sorted(pages)]
    return [name for name in dict.fromkeys(order) if name in pages]


def heading_slug(heading: str) -> str:
    """Fragment of a link to this heading, without the #."""
    return _NO_LETTER.sub("", heading.strip().lower()).replace(" ", "-")


@dataclass(frozen=True, slots=True)
class GuideMatch:
    """Position of a match: the nth occurrence in this page, from 0."""

    page: str
    nth: int


def find_matches(
    pages: Mapping[str, str], order: Sequence[str], search_text: str
) -> list[GuideMatch]:
    """Return every match of a text, ignoring case, in the order of the pages.

    Args:
        pages: Texts to search, by file name.
        search_text: Text as typed; an empty text has no matches.
    """
    wanted = search_text.strip().lower()
    if not wanted:
        return []
    return [
        GuideMatch(name, nth) for name in order for nth in range(pages[name].lower().count(wanted))
    ]


def next_match(found: Sequence[GuideMatch], page: str, at: GuideMatch | None) -> GuideMatch | None:
    """Return the match after the last one, or the first from this page on; wraps around.

    Args:
        found: All matches, in order.
        page: The page that is shown.
        at: Match that the last search showed; None: none yet.
    """
    if not found:
        return None
    if at is not None and at in found:
        return found[(found.index(at) + 1) % len(found)]
    return next((match for match in found if match.page == page), found[0])
