"""Each part's newest tables, kept beside the code and not in git: the page needs no new run."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

FOLDER = Path(__file__).with_name("results")


def keep(part: str, told: dict[str, str], versions: str, machine: str) -> None:
    """Store the texts of a part, with when, where and of which versions they are."""
    FOLDER.mkdir(exist_ok=True)
    kept = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine,
        "versions": versions,
        "told": told,
    }
    (FOLDER / f"{part}.json").write_text(json.dumps(kept, indent=1), encoding="utf-8")


def newest(parts: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """All texts, and `machine`, `date` and `versions` of the part that was measured last.

    Args:
        parts: The names of each one's texts; those of a part that was never measured here say so.

    Raises:
        SystemExit: None was measured here.
    """
    files = {part: FOLDER / f"{part}.json" for part in parts}
    kept = [json.loads(file.read_text("utf-8")) for file in files.values() if file.exists()]
    if not kept:
        raise SystemExit("nothing was measured here yet")
    found = {
        name: f"({part}: not measured yet)"
        for part, names in parts.items()
        if not files[part].exists()
        for name in names
    }
    for one in sorted(kept, key=lambda one: one["date"]):
        found |= {name: one[name] for name in ("date", "machine", "versions")} | one["told"]
    return found


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
