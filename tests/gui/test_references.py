"""Every panel and state looks as it did: pictures are compared with those in `references/`.

`KMONITOR_NEW_REFERENCES=1 make test-full ARGS="-k looks_as_it_did"` writes them again, and with
them the pictures of the guide. Look at what changed before you commit it. A picture that differs
is written to `artefacts/references/`, beside the reference and the difference.
"""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Final

import numpy as np
import PySide6
import pytest
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontDatabase, QImage
from PySide6.QtWidgets import QApplication

from kmonitor.ui.text.language import PACKAGE
from tests.support.running_tests import LONG
from tests.support.scenes import SCENES, Wanted
from tests.support.stage import SIZE
from tests.support.waiting import DEADLINE_S

pytestmark = [pytest.mark.gui, pytest.mark.usefixtures("qapp"), LONG]

Pixels = NDArray[np.int16]
"""`[height, width, 3]`, 0..255."""

ROOT: Final = Path(__file__).resolve().parents[2]
KEPT: Final = Path(__file__).parent / "references"
MADE_WITH: Final = KEPT / "made_with.json"
ARTEFACTS: Final = ROOT / "artefacts" / "references"
IS_NEW: Final = bool(os.environ.get("KMONITOR_NEW_REFERENCES"))

HALF: Final = 2
"""Kept at half of 1280 pixels, whatever the scale: a shift of one pixel is still seen."""

STEP: Final = 16
"""Colours are kept in such steps, which makes files of 16 kB."""

FAR: Final = 24
"""Difference of a colour that counts, of 255; half a step comes from keeping them."""

MOST_FAR: Final = 0.002
"""Part of the pixels that may be so far off: some 450, a word in another place is more."""

GUIDE: Final = ROOT / "resources" / "guide" / "pictures"
GUIDE_PICTURES: Final = {
    "window-dark": "live-dark-en",
    "window-light": "live-light-en",
    "run-out-of-memory": "out_of_memory-light-en",
    "memory-map": "map_of_file-light-en",
    "study": "study_running-light-en",
    "host-lost": "host_lost-light-en",
    "where-the-time-goes": "where_the_time_goes-light-en",
    "limit-menu": "limit_menu-light-en",
    "reclaims": "reclaims-light-en",
    "alerts": "alerts-light-en",
    "compare": "compare-light-en",
}
"""File in the guide: the picture that it is."""

QUICK: Final = ("live", "hub_lost", "out_of_memory", "history", "verdict_sheet")
WITH_CHINESE: Final = ("chinese_name",)


def drawn(folder: Path, wanted: Wanted, scale: int) -> dict[str, QImage]:
    """Pictures by name, drawn by a separate process at this scale."""
    environ = {
        **os.environ,
        "QT_QPA_PLATFORM": "offscreen",
        "QT_SCALE_FACTOR": str(scale),
        "QT_FONT_DPI": "96",
        "PYTHONPATH": str(ROOT),
    }
    words = [sys.executable, "-m", "tests.support.scenes", str(folder), json.dumps(asdict(wanted))]
    ran = subprocess.run(
        words,
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=6 * DEADLINE_S,
    )
    assert ran.returncode == 0, ran.stderr
    return {file.stem: QImage(str(file)) for file in sorted(folder.glob("*.png"))}


def kept_form(image: QImage, scale: int) -> Pixels:
    """A picture as it is kept: smaller, in few colours."""
    size = image.size() / (HALF * scale)
    small = image.scaled(
        size, Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation
    )
    return (pixels_of(small) // STEP * STEP + STEP // 2).astype(np.int16)


def pixels_of(image: QImage) -> Pixels:
    """A picture as numbers."""
    plain = image.convertToFormat(QImage.Format.Format_RGB888)
    lines = np.frombuffer(plain.constBits(), np.uint8).reshape(plain.height(), -1)
    pixels = lines[:, : plain.width() * 3].reshape(plain.height(), plain.width(), 3)
    return pixels.astype(np.int16)


def as_image(pixels: Pixels) -> QImage:
    """Pixels as a picture of at most 256 colours where they have no more."""
    content = np.ascontiguousarray(np.clip(pixels, 0, 255).astype(np.uint8))
    height, width = content.shape[:2]
    image = QImage(content.tobytes(), width, height, 3 * width, QImage.Format.Format_RGB888)
    few = len(np.unique(content.reshape(-1, 3), axis=0)) <= 256
    return image.convertToFormat(QImage.Format.Format_Indexed8) if few else image.copy()


def compare(name: str, now: Pixels) -> str:
    """Differences from the reference, in words; empty: none. Writes a picture that differs."""
    file = KEPT / f"{name}.png"
    if not file.exists():
        return f"{name}: there is no reference"
    before = pixels_of(QImage(str(file)))
    if before.shape != now.shape:
        return f"{name}: another size"
    apart = np.abs(now - before).max(axis=2)
    part = float((apart > FAR).mean())
    if part <= MOST_FAR:
        return ""
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    difference = np.repeat(np.where(apart > FAR, 255, 0)[:, :, None], 3, axis=2)
    for what, pixels in (("now", now), ("before", before), ("difference", difference)):
        as_image(pixels).save(str(ARTEFACTS / f"{name}-{what}.png"), None, 0)
    return f"{name}: {100 * part:.2f}% of the pixels differ"


def chinese_family() -> str:
    """The typeface that draws Chinese here; empty: none."""
    system = QFontDatabase.WritingSystem.SimplifiedChinese
    return next(iter(sorted(QFontDatabase.families(system))), "")


def why_no_chinese() -> str:
    """Why pictures in Chinese cannot be compared here; empty: they can."""
    family = chinese_family()
    if not family:
        return f"no typeface here has Chinese characters: apt-get install {PACKAGE}"
    if not IS_NEW and kept_with().get("chinese") != family:
        return f"what is kept was not drawn with {family}"
    return ""


def kept_with() -> dict[str, str]:
    """`made_with` of the pictures that are kept."""
    return json.loads(MADE_WITH.read_text(encoding="utf-8")) if MADE_WITH.exists() else {}


def made_with() -> dict[str, str]:
    """Libraries and fonts that decide how letters look."""
    return {"pyside": PySide6.__version__, "chinese": chinese_family()}


def is_comparable(name: str) -> bool:
    """True if a picture can look the same here: Chinese is drawn in the system's typeface."""
    has_chinese = "-zh_CN-" in name or name.startswith(WITH_CHINESE)
    return not has_chinese or kept_with().get("chinese") == chinese_family()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenes", "scale", "language"),
    [
        (QUICK, 1, "en"),
        *(
            pytest.param(tuple(SCENES), scale, language, marks=pytest.mark.full)
            for language in ("en", "zh_CN")
            for scale in (1, 2)
        ),
    ],
    ids=["quick", "all", "all-2x", "all-chinese", "all-chinese-2x"],
)
def test_each_panel_and_state_looks_as_it_did(
    tmp_path: Path, scenes: tuple[str, ...], scale: int, language: str
) -> None:
    is_quick = scenes == QUICK
    if IS_NEW and is_quick:
        pytest.skip("all are written by the whole test")
    if language == "zh_CN" and (why_not := why_no_chinese()):
        pytest.skip(why_not)
    wanted = Wanted(scenes=list(scenes), languages=[language])

    pictures = drawn(tmp_path, wanted, scale)

    assert {name.split("-")[0] for name in pictures} == set(scenes)
    forms = {f"{name}-{scale}x": kept_form(each, scale) for name, each in pictures.items()}
    if IS_NEW:
        write(forms, f"{language}-{scale}x")
        if (language, scale) == ("en", 1):
            for name, scene in GUIDE_PICTURES.items():
                pictures[scene].save(str(GUIDE / f"{name}.png"), None, 0)
    told = [compare(name, form) for name, form in forms.items() if is_comparable(name)]
    assert [words for words in told if words] == []


def write(forms: dict[str, Pixels], ending: str) -> None:
    """Put these in the place of what was kept under names with this ending."""
    KEPT.mkdir(exist_ok=True)
    for old in KEPT.glob(f"*-{ending}.png"):
        old.unlink()
    for name, form in forms.items():
        as_image(form).save(str(KEPT / f"{name}.png"), None, 0)
    MADE_WITH.write_text(json.dumps(made_with(), indent=2) + "\n", encoding="utf-8")


def test_each_picture_of_the_guide_is_made_here_and_shown_there() -> None:
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "resources/guide").glob("*.md")]
    pages.append((ROOT / "README.md").read_text(encoding="utf-8"))

    assert {path.stem for path in GUIDE.glob("*.png")} == set(GUIDE_PICTURES)
    for name in GUIDE_PICTURES:
        assert any(f"pictures/{name}.png" in page for page in pages), name


def test_a_word_in_another_place_is_seen_and_a_shade_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "KEPT", tmp_path)
    monkeypatch.setitem(globals(), "ARTEFACTS", tmp_path / "artefacts")
    width, height = SIZE[0] // HALF, SIZE[1] // HALF
    before = np.full((height, width, 3), 24, dtype=np.int16)
    as_image(before).save(str(tmp_path / "x-1x.png"), None, 0)
    moved, shaded = before.copy(), before.copy()
    moved[40:52, 60:110] = 232
    shaded[:, :] += STEP

    assert compare("x-1x", before) == ""
    assert compare("x-1x", shaded) == ""
    assert "0.25% of the pixels differ" in compare("x-1x", moved)
    assert len(list((tmp_path / "artefacts").glob("*.png"))) == 3
    assert QApplication.instance() is not None
