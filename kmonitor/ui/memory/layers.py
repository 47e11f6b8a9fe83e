"""A memory map by layer: the tiles of the icicle and the rows of the table.

Both split a layer's memory into the same parts, in the same order and hues.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from kmonitor.memory.estimate import MemoryMap
from kmonitor.memory.layer_table import LayerMemory
from kmonitor.ui.text.formats import bytes_text, count_text
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import later, tr
from kmonitor.ui.theme.palettes import Tone

MapPart = Literal["weights", "gradients", "slots", "kept", "workspace"]
PARTS: Final[tuple[MapPart, ...]] = ("weights", "slots", "gradients", "kept", "workspace")
"""Parts from the bottom of a layer's tile to its top: those that stay allocated first."""

HUES: Final[dict[MapPart, int]] = {
    "weights": 0,
    "slots": 5,
    "gradients": 3,
    "kept": 1,
    "workspace": 2,
}
"""Index of a part's hue in the palette."""

MAP_COLUMNS: Final = (
    "layer", "kind", "total", "weights", "slots", "gradients", "kept", "workspace", "note",
)  # fmt: skip
"""Keys of the table's columns."""

_TITLES: Final[dict[MapPart, str]] = {
    "weights": later("Weights"),
    "slots": later("Optimizer"),
    "gradients": later("Gradients"),
    "kept": later("Activations"),
    "workspace": later("Workspace"),
}


def part_title(part: MapPart) -> str:
    return tr(_TITLES[part])


def parts_legend() -> tuple[tuple[str, int], ...]:
    """Titles and hues of the parts."""
    return tuple((part_title(part), HUES[part]) for part in PARTS)


def layer_part_bytes(row: LayerMemory) -> tuple[int, ...]:
    """A layer's bytes in the order of `PARTS`."""
    by_part: dict[MapPart, int] = {
        "weights": row.parameter_bytes,
        "slots": row.slot_bytes,
        "gradients": row.gradient_bytes,
        "kept": row.kept_bytes,
        "workspace": row.workspace_bytes,
    }
    return tuple(by_part[part] for part in PARTS)


@dataclass(frozen=True, slots=True)
class MapTile:
    """A rectangle of the icicle.

    Attributes:
        path: Path of the layer, or of the models that contain it; empty: the whole model.
        label: Text on the tile, if there is room.
        level: Row from the top; 0 is the whole model.
        start: Left edge, 0..1 of the width.
        end: Right edge.
        parts: Bytes of a layer in the order of `PARTS`; empty for tiles that contain others.
        tooltip: Details of the tile.
        is_hatched: True if the size is only assumed: no rule covers the layer.
    """

    path: str
    label: str
    level: int
    start: float
    end: float
    parts: tuple[int, ...]
    tooltip: str
    is_hatched: bool = False


def map_tiles(found: MemoryMap) -> tuple[MapTile, ...]:
    """Return the tiles of the icicle: each layer is as wide as its part of the peak."""
    root = _Node("", "")
    for row in found.layers:
        root.add(row, row.path.split("/"))
    if not root.n_bytes:
        return ()
    tiles: list[MapTile] = []
    _add_tiles(root, 0, 0.0, 1.0, tiles)
    return tuple(tiles)


@dataclass(slots=True)
class _Node:
    path: str
    name: str
    n_bytes: int = 0
    rows: list[LayerMemory] = field(default_factory=list[LayerMemory])
    inside: "dict[str, _Node]" = field(default_factory=dict[str, "_Node"])

    def add(self, row: LayerMemory, names: Sequence[str]) -> None:
        self.n_bytes += row.total_bytes
        if not names:
            self.rows.append(row)
            return
        path = f"{self.path}/{names[0]}" if self.path else names[0]
        self.inside.setdefault(names[0], _Node(path, names[0])).add(row, names[1:])


def _add_tiles(node: _Node, level: int, start: float, end: float, tiles: list[MapTile]) -> None:
    is_layer = not node.inside and len(node.rows) == 1
    tiles.append(
        MapTile(
            path=node.path,
            label=_name(node.name) or tr("the whole model"),
            level=level,
            start=start,
            end=end,
            parts=layer_part_bytes(node.rows[0]) if is_layer else (),
            tooltip=_tooltip(node.rows[0]) if is_layer else _group_tooltip(node),
            is_hatched=is_layer and not node.rows[0].is_covered,
        )
    )
    if is_layer or not node.n_bytes:
        return
    at = start
    own = [_Node(row.path, row.path, row.total_bytes, [row]) for row in node.rows]
    for inner in (*own, *node.inside.values()):
        width = (end - start) * inner.n_bytes / node.n_bytes
        if width > 0:
            _add_tiles(inner, level + 1, at, at + width, tiles)
            at += width


def _name(path: str) -> str:
    """Name of a layer; entries that are no layer are in the viewer's language."""
    return translated_text(path) if path.startswith("(") else path


def _group_tooltip(node: _Node) -> str:
    name = node.path or tr("the whole model")
    sizes = tr("{size} of the peak")
    return f"{name}\n{sizes.format(size=bytes_text(node.n_bytes))}"


@dataclass(frozen=True, slots=True)
class MapRow:
    """A row of the table.

    Attributes:
        cells: Texts in the order of `MAP_COLUMNS`.
        values: Bytes in the same order, to sort by; -1 for text cells.
        tooltip: Tooltip of all cells.
        tone: Tone of the note.
    """

    path: str
    cells: tuple[str, ...]
    values: tuple[int, ...]
    tooltip: str
    tone: Tone


def map_rows(found: MemoryMap, *, has_calls: bool, by: str = "layer") -> tuple[MapRow, ...]:
    """Return the rows of the table.

    Args:
        has_calls: True if the connections of the layers are known.
        by: Column to sort by. "layer": order of computation; others: largest value first.
    """
    rows = [_row(each, has_calls=has_calls) for each in found.layers]
    at = MAP_COLUMNS.index(by)
    if by in ("kind", "note"):
        rows.sort(key=lambda row: row.cells[at])
    elif by != "layer":
        rows.sort(key=lambda row: -row.values[at])
    return tuple(rows)


def _row(row: LayerMemory, *, has_calls: bool) -> MapRow:
    parts = layer_part_bytes(row)
    total = row.total_bytes
    note = _note(row, has_calls=has_calls)
    cells = (
        translated_text(row.path) if not row.kind else row.path,
        row.kind,
        bytes_text(total) if total else "",
        *(bytes_text(n) if n else "" for n in parts),
        note,
    )
    tone: Tone = "plain" if row.is_covered else "warn"
    return MapRow(
        row.path, cells, (-1, -1, total, *parts, -1), _tooltip(row, has_calls=has_calls), tone
    )


def _note(row: LayerMemory, *, has_calls: bool) -> str:
    if not row.is_covered:
        return tr("no rule covers it: assumed")
    if not has_calls and not row.parameters:
        return tr("no weights; its activations are unknown")
    return translated_text(row.note)


def _tooltip(row: LayerMemory, *, has_calls: bool = True) -> str:
    head = f"{row.path} \u00b7 {row.kind}" if row.kind else translated_text(row.path)
    lines = [head]
    if row.parameters:
        lines.append(tr("{n} parameters").format(n=count_text(row.parameters)))
    lines += [
        f"{part_title(part)} {bytes_text(n)}"
        for part, n in zip(PARTS, layer_part_bytes(row), strict=True)
        if n
    ]
    note = _note(row, has_calls=has_calls)
    return "\n".join([*lines, note] if note else lines)
