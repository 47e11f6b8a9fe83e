"""Diagnoses and records as rich text in the theme's colours; what they name is never markup."""

from collections.abc import Iterable
from html import escape

from kmonitor.ui.events.diagnosis import DiagnosisPicture, DiagnosisRow, DiagnosisSection
from kmonitor.ui.events.record_facts import RecordPicture
from kmonitor.ui.text.language import tr
from kmonitor.ui.theme.palettes import Palette
from kmonitor.ui.theme.theme import SIZES
from kmonitor.ui.verdicts.evidence import EvidencePicture


def diagnosis_html(picture: DiagnosisPicture, palette: Palette) -> str:
    """The evidence of a diagnosis, section by section."""
    parts = [_section(section, palette) for section in picture.sections]
    if picture.missing:
        parts.append(_paragraph(picture.missing, palette.sub))
    return "".join(parts)


def record_html(picture: RecordPicture, palette: Palette) -> str:
    """The facts of a record, one a row."""
    rows = "".join(
        f'<tr><td width="30%" style="color: {palette.sub}; padding: 4px 18px 4px 0;">'
        f'{escape(fact.title)}</td><td style="padding: 4px 0;">{_lines(fact.text)}</td></tr>'
        for fact in picture.facts
    )
    return f'<table width="100%" cellspacing="0">{rows}</table>'


def evidence_html(picture: EvidencePicture, palette: Palette) -> str:
    """What a verdict rests on, and what may help."""
    parts = [_paragraph(line, palette.text) for line in picture.lines]
    if picture.advice:
        parts.append(_paragraph(tr("What may help in the script:"), palette.sub))
        parts += [_paragraph(f"\u2022 {each}", palette.text) for each in picture.advice]
    return "".join(parts)


def _section(section: DiagnosisSection, palette: Palette) -> str:
    title = (
        f'<p style="margin: 14px 0 2px 0; font-size: {SIZES.control_px}px; font-weight: 600;">'
        f"{escape(section.title)}</p>"
    )
    if not section.rows:
        return title + _paragraph(section.empty, palette.sub)
    head = _row(section.note, section.heads, palette.mute, palette, is_head=True)
    rows = "".join(_data_row(row, palette) for row in section.rows)
    return f'{title}<table width="100%" cellspacing="0">{head}{rows}</table>'


def _data_row(row: DiagnosisRow, palette: Palette) -> str:
    return _row(row.name, row.numbers, palette.warn if row.has_grown else palette.text, palette)


def _row(
    name: str, numbers: Iterable[str], colour: str, palette: Palette, *, is_head: bool = False
) -> str:
    line = f"border-bottom: 1px solid {palette.border}; padding: 3px 0;"
    cells = "".join(
        f'<td align="right" width="92" style="{line} color: {colour};">{escape(number)}</td>'
        for number in numbers
    )
    first = f"color: {colour};" if is_head else ""
    return f'<tr><td style="{line} {first}">{escape(name)}</td>{cells}</tr>'


def _paragraph(text: str, colour: str) -> str:
    return f'<p style="margin: 0 0 6px 0; color: {colour};">{escape(text)}</p>'


def _lines(text: str) -> str:
    return "<br>".join(escape(line) for line in text.splitlines())
