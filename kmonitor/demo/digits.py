"""The demo's data: handwriting-like digits, drawn from the strokes in `resources/demo`.

`resources/demo/LICENSE-data.md` describes how they are drawn.
"""

from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from kmonitor.base.installation import resource_path

SIDE = 12
"""Edge length of an image, pixels."""

Floats = npt.NDArray[np.float64]
Strokes = list[list[tuple[float, float]]]


@dataclass(frozen=True, slots=True)
class DigitSet:
    """Images and their labels.

    Attributes:
        images: Pixels, `[n_images, SIDE, SIDE, 1]` float32, 0 (paper) to 1 (ink).
        labels: Digits, `[n_images]` int32, 0..9.
    """

    images: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int32]


def draw_digits(n_images: int, *, seed: int) -> DigitSet:
    """Draw images of the digits in turn; the same images for the same seed.

    Args:
        n_images: Number of images.
        seed: Seed of the random generator.
    """
    writing_styles = _writing_styles_by_digit()
    random = np.random.default_rng(seed)
    images = np.empty((n_images, SIDE, SIDE, 1), np.float32)
    for index in range(n_images):
        written = writing_styles[index % len(writing_styles)]
        strokes = written[random.integers(len(written))]
        images[index, :, :, 0] = _draw(strokes, random)
    labels = np.arange(n_images, dtype=np.int32) % len(writing_styles)
    return DigitSet(images, labels)


def _writing_styles_by_digit() -> list[list[Strokes]]:
    text = resource_path("demo", "digit_strokes.json").read_bytes()
    by_digit = msgspec.json.decode(text, type=dict[str, list[Strokes]])
    return [by_digit[str(digit)] for digit in range(10)]


def _draw(strokes: Strokes, random: np.random.Generator) -> Floats:
    turn = _random_turn(random)
    shift = 0.5 + random.uniform(-0.06, 0.06, 2)
    starts: list[Floats] = []
    ends: list[Floats] = []
    for stroke in strokes:
        points = np.asarray(stroke) + random.normal(0.0, 0.02, (len(stroke), 2))
        line = (_rounded(_rounded(points)) - 0.5) @ turn.T + shift
        starts.append(line[:-1])
        ends.append(line[1:])
    coverage = _pen_coverage(
        np.concatenate(starts), np.concatenate(ends), random.uniform(0.045, 0.075)
    )
    noisy = coverage + random.normal(0.0, 0.05, coverage.shape)
    return np.clip(noisy, 0.0, 1.0)


def _random_turn(random: np.random.Generator) -> Floats:
    angle = np.deg2rad(random.uniform(-12.0, 12.0))
    slant = random.uniform(-0.2, 0.2)
    scale = random.uniform(0.8, 1.05)
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return scale * rotation @ np.array([[1.0, slant], [0.0, 1.0]])


def _rounded(points: Floats) -> Floats:
    """The line with corners cut once. Source: Chaikin 1974, quarter points; ends are kept."""
    first = 0.75 * points[:-1] + 0.25 * points[1:]
    second = 0.25 * points[:-1] + 0.75 * points[1:]
    between = np.stack([first, second], axis=1).reshape(-1, 2)
    return np.concatenate([points[:1], between, points[-1:]])


def _pen_coverage(starts: Floats, ends: Floats, radius: float) -> Floats:
    """Share of each pixel covered by the pen, from the distance to the nearest line segment."""
    edge = (np.arange(SIDE) + 0.5) / SIDE
    pixels = np.stack(np.meshgrid(edge, edge), axis=-1).reshape(-1, 1, 2)
    along = ends - starts
    length = np.maximum(np.sum(along**2, axis=1), 1e-12)
    part = np.clip(np.sum((pixels - starts) * along, axis=2) / length, 0.0, 1.0)
    nearest = starts + part[..., None] * along
    distance: Any = np.min(np.linalg.norm(pixels - nearest, axis=2), axis=1)
    soft = 0.5 / SIDE
    return np.clip((radius + soft - distance) / (2 * soft), 0.0, 1.0).reshape(SIDE, SIDE)
