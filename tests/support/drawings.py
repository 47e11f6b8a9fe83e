"""Reads SVG drawings and HTML pages back, as a strict reader would."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final
from xml.etree import ElementTree as ET

from typing_extensions import override

_SVG = "{http://www.w3.org/2000/svg}"
MAY_STAND_IN_IT: Final = {
    *("html", "head", "meta", "title", "style", "body", "main", "header", "section", "footer"),
    *("h1", "h2", "h3", "p", "span", "div", "ul", "li", "dl", "dt", "dd", "br"),
    *("table", "thead", "tbody", "tr", "th", "td"),
    *("svg", "desc", "g", "line", "path", "rect", "circle", "polygon", "text"),
}
"""The elements of a report: nothing that runs or loads."""

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Drawing:
    """An SVG drawing.

    Attributes:
        root: Its outermost element.
    """

    root: ET.Element

    @classmethod
    def of(cls, text: str) -> "Drawing":
        """Read one; fails where it is no XML."""
        return cls(ET.fromstring(text))  # noqa: S314 - our own drawing

    def all(self, name: str) -> list[ET.Element]:
        """The elements of a name."""
        return list(self.root.iter(f"{_SVG}{name}"))

    def texts(self) -> list[str]:
        """The words that stand in it."""
        return ["".join(each.itertext()) for each in self.all("text")]

    def titles(self) -> list[str]:
        """Texts under the pointer."""
        return ["".join(each.itertext()) for each in self.all("title")]

    def strokes(self) -> list[str]:
        """Paths that are lines, without what is only filled."""
        return [
            each.get("d", "") for each in self.all("path") if "fill:none" in each.get("style", "")
        ]

    def xs(self) -> list[float]:
        """Horizontal places of all lines, shapes and points."""
        found: list[float] = []
        for each in self.root.iter():
            found += [float(each.get(key, "")) for key in ("x1", "x2", "cx") if each.get(key)]
            numbers = _NUMBER.findall(each.get("points", ""))
            found += map(float, numbers[::2])
        return found


@dataclass
class Page(HTMLParser):
    """An HTML page as a browser takes it apart.

    Attributes:
        elements: (name, attributes) in order.
        text: All words.
    """

    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__()

    @classmethod
    def of(cls, text: str) -> "Page":
        """Read one."""
        page = cls()
        page.feed(text)
        page.close()
        return page

    @property
    def names(self) -> set[str]:
        """Names of the elements in it."""
        return {name for name, _ in self.elements}

    @property
    def attributes(self) -> set[str]:
        """Names of the attributes in it."""
        return {key for _, attributes in self.elements for key in attributes}

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    @override
    def handle_data(self, data: str) -> None:
        self.text += data
