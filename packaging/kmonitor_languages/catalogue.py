"""A catalogue of translations as a file of Qt Linguist (`.ts`)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NewType
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape, quoteattr

from kmonitor_languages.source_texts import SourceText

Key = NewType("Key", tuple[str, str])
"""Context and English text."""

_HEAD = '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE TS>\n'


@dataclass(frozen=True, slots=True)
class Entry:
    """One text of a catalogue.

    Attributes:
        translation: Empty: there is none yet.
        is_finished: A translator has seen it as it is now.
        note: From the translator to the next one; may be empty.
    """

    translation: str
    is_finished: bool
    note: str = ""


Catalogue = dict[Key, Entry]


def key_of(text: SourceText) -> Key:
    """Under what a text is looked up."""
    return Key((text.context, text.text))


def read_catalogue(path: Path) -> Catalogue:
    """The entries of a file.

    Raises:
        FileNotFoundError: There is none.
        xml.etree.ElementTree.ParseError: It is damaged.
    """
    found: Catalogue = {}
    for context in ET.parse(path).getroot().iter("context"):  # noqa: S314 - our own file
        name = context.findtext("name", "")
        for message in context.iter("message"):
            told = message.find("translation")
            text = told.text if told is not None and told.text else ""
            is_finished = told is not None and not told.get("type") and bool(text)
            note = message.findtext("translatorcomment", "")
            found[Key((name, message.findtext("source", "")))] = Entry(text, is_finished, note)
    return found


def merged(texts: Iterable[SourceText], old: Mapping[Key, Entry]) -> Catalogue:
    """A catalogue of these texts with the translations that are known.

    A text that is new in this context but known in another begins with that translation,
    unfinished; texts that the code no longer has are dropped.
    """
    elsewhere = {key[1]: entry.translation for key, entry in old.items() if entry.translation}
    result: Catalogue = {}
    for text in texts:
        key = key_of(text)
        begun = Entry(elsewhere.get(text.text, ""), is_finished=False)
        result[key] = old.get(key, begun)
    return result


def write_catalogue(
    path: Path, language: str, texts: Iterable[SourceText], entries: Mapping[Key, Entry]
) -> None:
    """Write a file that does not change while neither texts nor translations do.

    Args:
        path: The file.
        language: As "zh_CN".
        texts: Each is written with its files, without line numbers, which every change moves.
        entries: Its translations.
    """
    files: dict[Key, list[str]] = {}
    for text in texts:
        places = files.setdefault(key_of(text), [])
        if text.file not in places:
            places.append(text.file)
    lines = [f'<TS version="2.1" language={quoteattr(language)} sourcelanguage="en">']
    for context in sorted({key[0] for key in entries}):
        lines += ["<context>", f"    <name>{escape(context)}</name>"]
        for key in sorted(key for key in entries if key[0] == context):
            lines += _message(key[1], files.get(key, []), entries[key])
        lines.append("</context>")
    path.write_text(_HEAD + "\n".join([*lines, "</TS>", ""]), encoding="utf-8")


def _message(source: str, files: list[str], entry: Entry) -> list[str]:
    state = "" if entry.is_finished else ' type="unfinished"'
    note = (
        [f"        <translatorcomment>{escape(entry.note)}</translatorcomment>"]
        if entry.note
        else []
    )
    return [
        "    <message>",
        *(f'        <location filename="../../{file}"/>' for file in files),
        f"        <source>{escape(source)}</source>",
        *note,
        f"        <translation{state}>{escape(entry.translation)}</translation>",
        "    </message>",
    ]
