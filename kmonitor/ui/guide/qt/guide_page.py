"""How a page of the guide is set: Qt's Markdown comes solid, with bright tables."""

from collections.abc import Iterable, Iterator
from typing import Final, cast

from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrame,
    QTextTable,
)

from kmonitor.ui.theme.palettes import Palette

_LINE_PX: Final = 21.0
"""The same for words and code, whose typeface asks for more."""

_ABOVE_HEADING_PX: Final = (0.0, 22.0, 16.0)
"""By level of the heading; the last for all that follow."""

_BELOW_HEADING_PX: Final = 8.0
_BELOW_PARAGRAPH_PX: Final = 9.0
_BELOW_ITEM_PX: Final = 4.0
_AROUND_TABLE_PX: Final = 6.0
_IN_CELL_PX: Final = 6.0
_CODE_PX: Final = 13


def set_well(document: QTextDocument, palette: Palette) -> None:
    """Give headings, paragraphs, items and tables air, in the theme's colours.

    Args:
        document: The page, as Markdown has made it; may be set again.
        palette: The colours in force.
    """
    cursor = QTextCursor(document)
    cursor.beginEditBlock()
    for block in blocks_of(document):
        cursor.setPosition(block.position())
        cursor.mergeBlockFormat(_spaced(block, is_cell=bool(cursor.currentTable())))
        _set_letters(cursor, block, palette)
    for frame in document.rootFrame().childFrames():
        _set_table(frame, palette)
    cursor.endEditBlock()
    document.clearUndoRedoStacks()


def blocks_of(document: QTextDocument) -> Iterator[QTextBlock]:
    """Every paragraph, item, line of code and cell, in order."""
    block = document.begin()
    while block.isValid():
        yield block
        block = block.next()


def _spaced(block: QTextBlock, *, is_cell: bool) -> QTextBlockFormat:
    spaced, known = QTextBlockFormat(), block.blockFormat()
    level = known.headingLevel()
    if level:
        spaced.setTopMargin(_ABOVE_HEADING_PX[min(level, len(_ABOVE_HEADING_PX)) - 1])
        spaced.setBottomMargin(_BELOW_HEADING_PX)
        return spaced
    spaced.setLineHeight(_LINE_PX, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
    if is_cell:
        spaced.setBottomMargin(0.0)
    elif not _goes_on(block):
        spaced.setBottomMargin(_BELOW_ITEM_PX if block.textList() else _BELOW_PARAGRAPH_PX)
    return spaced


def _goes_on(block: QTextBlock) -> bool:
    """Whether the next line belongs to the same piece of code."""
    fence = QTextFormat.Property.BlockCodeFence
    following = block.next()
    return (
        block.blockFormat().hasProperty(fence)
        and following.isValid()
        and following.blockFormat().hasProperty(fence)
    )


def _set_letters(cursor: QTextCursor, block: QTextBlock, palette: Palette) -> None:
    parts = cast("Iterable[QTextBlock.iterator]", block.begin())
    found = [part.fragment() for part in parts]
    for piece in [(each.position(), each.length(), each.charFormat()) for each in found]:
        start, length, known = piece
        letters = QTextCharFormat()
        # Our typeface comes up to weight 600: bolder would be smeared.
        if known.fontWeight() > QFont.Weight.DemiBold:
            letters.setFontWeight(QFont.Weight.DemiBold)
        if known.fontFixedPitch():
            letters.setProperty(QTextFormat.Property.FontPixelSize, _CODE_PX)
        if known.isAnchor():
            letters.setForeground(QBrush(QColor(palette.accent)))
        if letters.propertyCount():
            cursor.setPosition(start)
            cursor.setPosition(start + length, QTextCursor.MoveMode.KeepAnchor)
            cursor.mergeCharFormat(letters)


def _set_table(frame: QTextFrame, palette: Palette) -> None:
    if not isinstance(frame, QTextTable):
        return
    form = frame.format().toTableFormat()
    form.setBorderBrush(QBrush(QColor(palette.border)))
    form.setBorderCollapse(True)
    form.setCellPadding(_IN_CELL_PX)
    form.setTopMargin(_AROUND_TABLE_PX)
    form.setBottomMargin(_AROUND_TABLE_PX * 2)
    frame.setFormat(form)
