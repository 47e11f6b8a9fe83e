"""Draws the program's icon in the sizes that desktops request, from `kmonitor.svg`.

Run after that picture was changed: `.venv/bin/python packaging/make_icons.py`.
"""

import os
import sys
from pathlib import Path

ICONS = Path(__file__).resolve().parents[1] / "resources" / "icons"

SIZES = (16, 24, 32, 48, 64, 128, 256)
"""Sizes of hicolor, pixels. Source: Icon Theme Specification, "Install icons in hicolor"."""


def main() -> int:
    """Draw all sizes and give the exit status."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtCore import Qt  # noqa: PLC0415 - after the platform is settled
    from PySide6.QtGui import QGuiApplication, QImage, QPainter  # noqa: PLC0415
    from PySide6.QtSvg import QSvgRenderer  # noqa: PLC0415

    application = QGuiApplication(["make_icons"])
    drawing = QSvgRenderer(str(ICONS / "kmonitor.svg"))
    for size in SIZES:
        image = QImage(size, size, QImage.Format.Format_ARGB32)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        drawing.render(painter)
        painter.end()
        path = ICONS / "program" / f"{size}.png"
        path.parent.mkdir(exist_ok=True)
        if not image.save(str(path)):
            print(f"{path} cannot be written", file=sys.stderr)
            return 1
    del application
    return 0


if __name__ == "__main__":
    sys.exit(main())
