"""Every text of the window has its Chinese, and what Qt loads is what the catalogue says."""

import ast
from pathlib import Path

import pytest
from kmonitor_languages.catalogue import (
    Catalogue,
    Entry,
    Key,
    key_of,
    merged,
    read_catalogue,
    write_catalogue,
)
from kmonitor_languages.source_texts import SourceText, fields, find_texts
from make_languages import FOLDERS, LANGUAGES, catalogue_path

from tests.support.source_tree import ROOT

TEXTS, FAULTS = find_texts(ROOT, FOLDERS)


@pytest.fixture(params=LANGUAGES)
def entries(request: pytest.FixtureRequest) -> Catalogue:
    return read_catalogue(catalogue_path(request.param))


def found_in(tmp_path: Path, code: str) -> tuple[list[SourceText], list[str]]:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "said.py").write_text(code, encoding="utf-8")
    texts, faults = find_texts(tmp_path, ("code",))
    return texts, [fault.what for fault in faults]


def test_no_text_is_put_together_before_it_is_translated():
    assert [f"{fault.place}: {fault.what}" for fault in FAULTS] == []
    assert len(TEXTS) > 700


def test_every_text_has_a_finished_translation_and_none_is_left_over(entries: Catalogue):
    wanted = {key_of(text) for text in TEXTS}
    unfinished = [key for key in wanted if key not in entries or not entries[key].is_finished]

    assert sorted(unfinished) == [], "run: make languages, and translate what is unfinished"
    assert sorted(set(entries) - wanted) == [], "run: make languages"


def test_translations_have_the_fields_of_their_source(entries: Catalogue):
    differing = [
        (key[1], entry.translation)
        for key, entry in entries.items()
        if fields(key[1]) != fields(entry.translation)
    ]

    assert differing == []


def test_translations_keep_keys_lines_and_the_space_around_them(entries: Catalogue):
    for (_, source), entry in entries.items():
        text = entry.translation
        assert source.count("\n") == text.count("\n"), source
        assert source[:1].isspace() == text[:1].isspace() or text[:1] in "\uff0c\uff1b", source
        assert source.endswith("\u2026") == text.endswith("\u2026"), source
        keys = source.rpartition("(")[2].removesuffix(")")
        if keys.startswith(("Ctrl+", "Alt+")) and source.endswith(")"):
            assert keys.partition(" ")[0] in text, source


def test_what_is_compiled_is_what_is_written(entries: Catalogue):
    core = pytest.importorskip("PySide6.QtCore")
    for language in LANGUAGES:
        translator = core.QTranslator()
        assert translator.load(str(catalogue_path(language).with_suffix(".qm")))
        stale = [
            key
            for key, entry in entries.items()
            if translator.translate(*key) != entry.translation
        ]
        assert stale == [], "run: make languages"


def test_texts_are_found_in_calls_tables_and_classes(tmp_path: Path):
    code = (
        'TABLE = {"a": later("Alone")}\n'
        'def words(key): return tr("{n} of them").format(n=1) + tr(TABLE[key])\n'
        "class Panel:\n"
        '    def __init__(self): self.tr("Inside " "and out")\n'
        '    def other(self): return tr("Plain")\n'
    )

    texts, faults = found_in(tmp_path, code)

    assert [(text.context, text.text) for text in texts] == [
        ("presenters", "Alone"),
        ("presenters", "{n} of them"),
        ("Panel", "Inside and out"),
        ("presenters", "Plain"),
    ]
    assert faults == []


@pytest.mark.parametrize(
    "code",
    [
        'tr(f"{n} of them")',
        'tr("one " + other)',
        'tr("{n}".format(n=1))',
        'tr("a" if few else "b")',
        'tr("%n more", "", 3)',
        'tr("%n more")',
        'tr("{} more")',
        'tr("{")',
        'tr("")',
        "later(name)",
        "class Panel:\n    def say(self): self.tr(name)",
    ],
)
def test_what_no_translator_can_serve_is_refused(tmp_path: Path, code: str):
    ast.parse(code)

    assert found_in(tmp_path, code)[1]


def test_a_catalogue_keeps_what_is_said_still_and_drops_the_rest(tmp_path: Path):
    path = tmp_path / "kmonitor_xx.ts"
    texts = [SourceText("A", 'Say <it> & "go"\n{n}', "a.py"), SourceText("B", "New", "b.py")]
    old = {
        key_of(texts[0]): Entry(
            "\u8bf4 <\u5b83> & \u201c{n}\u201d\n", is_finished=True, note="why"
        ),
        Key(("A", "Gone")): Entry("\u8d70", is_finished=True),
        Key(("C", "New")): Entry("\u65b0", is_finished=True),
    }

    entries = merged(texts, old)
    write_catalogue(path, "xx", texts, entries)
    again = read_catalogue(path)

    assert again == entries
    assert again[key_of(texts[0])] == old[key_of(texts[0])]
    assert again[key_of(texts[1])] == Entry("\u65b0", is_finished=False)
    assert Key(("A", "Gone")) not in again
