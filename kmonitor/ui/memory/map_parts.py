"""The parts of a layer's memory: their order, hues and names."""

from typing import Final, Literal

from kmonitor.memory.layer_table import LayerMemory
from kmonitor.ui.text.language import later, tr

Part = Literal["weights", "gradients", "slots", "kept", "workspace"]
PARTS: Final[tuple[Part, ...]] = ("weights", "slots", "gradients", "kept", "workspace")
"""From the bottom of a layer's tile to its top: what stays first."""

HUES: Final[dict[Part, int]] = {
    "weights": 0,
    "slots": 5,
    "gradients": 3,
    "kept": 1,
    "workspace": 2,
}
"""Which of the palette's hues a part has."""

_TITLES: Final[dict[Part, str]] = {
    "weights": later("Weights"),
    "slots": later("Optimizer"),
    "gradients": later("Gradients"),
    "kept": later("Kept for backward"),
    "workspace": later("Workspace"),
}


def part_title(part: Part) -> str:
    """What a part is called."""
    return tr(_TITLES[part])


def legend() -> tuple[tuple[str, int], ...]:
    """Titles and hues of the parts."""
    return tuple((part_title(part), HUES[part]) for part in PARTS)


def parts_of(row: LayerMemory) -> tuple[int, ...]:
    """A layer's bytes in the order of `PARTS`."""
    by_part: dict[Part, int] = {
        "weights": row.parameter_bytes,
        "slots": row.slot_bytes,
        "gradients": row.gradient_bytes,
        "kept": row.kept_bytes,
        "workspace": row.workspace_bytes,
    }
    return tuple(by_part[part] for part in PARTS)
