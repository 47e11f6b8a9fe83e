"""The bundled typeface, and letters that it has not."""

import pytest
from PySide6.QtGui import QImage, QPainter, QRawFont

from kmonitor.ui.theme.qt.style_sheet import load_fonts, window_font

pytestmark = [pytest.mark.gui, pytest.mark.usefixtures("qapp")]


def ink(text: str) -> int:
    image = QImage(200, 40, QImage.Format.Format_Grayscale8)
    image.fill(255)
    painter = QPainter(image)
    painter.setFont(window_font(load_fonts()))
    painter.drawText(5, 25, text)
    painter.end()
    return sum(image.pixelColor(x, y).lightness() < 200 for x in range(200) for y in range(40))


def test_letters_that_no_font_here_has_are_painted_as_boxes():
    # For private use, so that the machine's own fonts do not matter.
    assert ink("\U000f1234\U000f1235") > 20


@pytest.mark.parametrize("weight", [400, 500, 600])
def test_every_weight_has_a_box_for_a_missing_letter(weight: int):
    font = window_font(load_fonts())
    font.setWeight(font.Weight(weight))
    raw = QRawFont.fromFont(font)

    assert raw.weight() == weight
    assert raw.pathForGlyph(0).elementCount() > 8
