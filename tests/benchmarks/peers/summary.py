"""The first screen of the page: who saw, said and could do something, as ticks; and the costs."""

from tests.benchmarks.peers.results import table

_TICK = "✓"
_NONE = "\u2013"
_NOTHING_DONE = ("nothing", "none found")
COSTS = ("tool", "step, ratio", "start, s", "RSS added, MiB", "written, MiB an hour")


def ticks(tell: str) -> str:
    """One row a training, one column a tool: its numbers moved, it said so, it could act."""
    cells: dict[str, dict[str, str]] = {}
    for training, tool, moved, said, done in _rows(tell):
        marks = (
            moved not in {"none", ""},
            said not in {"nothing", ""},
            not done.startswith(_NOTHING_DONE),
        )
        text = " ".join(_TICK if is_set else _NONE for is_set in marks)
        cells.setdefault(training, {})[tool] = text
    tools = list(next(iter(cells.values()), {}))
    rows = [(name, *(found.get(tool, "") for tool in tools)) for name, found in cells.items()]
    return table(("training", *tools), rows)


def costs(time: str, space: str) -> str:
    """Costs of each tool in one training: a row a tool, of the tables of time and space."""
    added = {row[0]: row for row in _rows(space)}
    rows = [
        (
            row[0].replace("ours", "kmonitor"),
            row[2].split()[0],
            row[4],
            added[row[0]][1],
            added[row[0]][4],
        )
        for row in _rows(time)
        if row[0] in added
    ]
    return table(COSTS, rows)


def _rows(text: str) -> list[list[str]]:
    """Cells of a table's rows, without its head."""
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in lines]
