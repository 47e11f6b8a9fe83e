"""Where the guide's pages are read: in the language in force, else in English."""

from pathlib import Path

from kmonitor.base.resource_files import resource_path
from kmonitor.ui.text.language import language_tag


def read_page(name: str) -> str | None:
    """One page as Markdown; None where there is none of that name.

    Args:
        name: Its file name, the same in every language; of a path only the last part counts.
    """
    for folder in _folders():
        page = folder / Path(name).name
        if page.is_file():
            return page.read_text(encoding="utf-8")
    return None


def read_pages() -> dict[str, str]:
    """Every page as Markdown, by its file name."""
    names = {page.name for folder in _folders() for page in folder.glob("*.md")}
    read = {name: read_page(name) for name in sorted(names)}
    return {name: text for name, text in read.items() if text is not None}


def _folders() -> list[Path]:
    """The language's folder, if it has one, then that of the English pages."""
    found: list[Path] = []
    for parts in (("guide", language_tag().replace("-", "_")), ("guide",)):
        try:
            found.append(resource_path(*parts))
        except FileNotFoundError:
            continue
    return found
