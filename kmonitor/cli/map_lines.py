"""A memory map as lines and a table for the terminal."""

from collections.abc import Sequence

from kmonitor.cli.common.terminal import counted, plain, say, say_table
from kmonitor.memory.advice import Advice
from kmonitor.memory.estimate import MemoryMap
from kmonitor.memory.layer_table import LayerMemory
from kmonitor.memory.what_if import Fit
from kmonitor.ui.text.formats import bytes_text, count_text, plain_text
from kmonitor_agent.wire.messages.model_layout import ModelLayout

_COLUMNS = (
    "layer", "kind", "parameters", "weights", "gradients", "slots", "kept", "workspace", "",
)  # fmt: skip
_RIGHT = ("parameters", "weights", "gradients", "slots", "kept", "workspace")


def say_map(layout: ModelLayout, found: MemoryMap) -> None:
    """The table by layer and the totals below it."""
    say_table(_COLUMNS, map(_row, found.layers), right=_RIGHT, elided="layer")
    say()
    say(_headline(layout, found))
    say(
        f"  resident {_size(found.resident_bytes)}: weights {_size(found.parameter_bytes)},"
        f" optimizer {_size(found.slot_bytes)}"
    )
    # The layers' part is by rules, the total by what was traced or measured: it may be less.
    kept = "of it kept" if found.kept_bytes <= found.transient_bytes else "by rules would be kept"
    say(
        f"  transient {_size(found.transient_bytes)}: {kept} for the backward pass"
        f" {_size(found.kept_bytes)}; gradients are {_size(found.gradient_bytes)} together, but"
        " not all at one time"
        if found.backend != "torch"
        else f"  transient {_size(found.transient_bytes)}: kept for the backward pass"
        f" {_size(found.kept_bytes)}, gradients {_size(found.gradient_bytes)}"
    )
    say(f"  tier {found.tier}: {found.method}")
    if found.uncovered:
        say(f"  no rule covers: {', '.join(map(plain, found.uncovered))}; the interval is wider")
    for note in found.notes:
        say(f"  {plain(note)}")


def say_fit(fit: Fit, limit: str) -> None:
    """The largest batches within a limit."""
    if fit.likely is None:
        say(f"Not even a batch of 1 is expected to fit {plain(limit)}.")
        return
    certain = f"{fit.certain} with certainty" if fit.certain else "none with certainty"
    say(f"Largest batch within {plain(limit)}: {certain}, {fit.likely} by the estimate itself.")


def say_advice(advised: Sequence[Advice]) -> None:
    """What would lower the peak, the largest saving first."""
    if not advised:
        say("No single change that is known would save a MiB.")
        return
    rows = [(_size(each.saved_bytes), _size(each.peak_bytes), each.words) for each in advised]
    say_table(("saves", "then", "change"), rows, right=("saves", "then"), folds=("change",))


def _headline(layout: ModelLayout, found: MemoryMap) -> str:
    high = "not known" if found.high_bytes is None else _size(found.high_bytes)
    optimizer = found.optimizer or "no optimizer"
    return (
        f"{plain(layout.name)}: peak {_size(found.peak_bytes)} ({_size(found.low_bytes)} to"
        f" {high}) at batch {found.batch}, {optimizer}, {found.precision}, {found.backend};"
        f" {counted(len(found.layers), 'layer')}"
    )


def _row(row: LayerMemory) -> tuple[str, ...]:
    return (
        row.path,
        row.kind,
        plain_text(count_text(row.parameters)) if row.parameters else "",
        *(
            _size(each) if each else ""
            for each in (row.parameter_bytes, row.gradient_bytes, row.slot_bytes, row.kept_bytes,
                         row.workspace_bytes)
        ),
        row.note if row.is_covered else "no rule covers it",
    )  # fmt: skip


def _size(n_bytes: int) -> str:
    return plain_text(bytes_text(n_bytes))
