"""What happened in the demo, side by side."""

from collections.abc import Sequence

from kmonitor.cli.common.terminal import say, say_table
from kmonitor.cli.demo.evidence import Shown, growth_per_model
from kmonitor.demo.reports import FoldDone
from kmonitor.ui.events.action_records import record_sentence
from kmonitor.ui.text.formats import bytes_text, count_text, plain_text


def tell_story(
    shown: Shown, monitored: Sequence[FoldDone], plain: Sequence[FoldDone] | None, *, run: str
) -> None:
    """Print models side by side, the peak, the growth, and what each reload gave back.

    Args:
        shown: What the hub stored.
        monitored: Models trained with kmonitor.
        plain: The same without; None if they were not trained.
        run: Run id.
    """
    say()
    if plain:
        _say_side_by_side(monitored, plain)
        say()
    for words in _sentences(shown, monitored, plain):
        say(plain_text(words))
    say(f"Look again at any time: kmonitor show {run[:8]}")
    say()


def _say_side_by_side(monitored: Sequence[FoldDone], plain: Sequence[FoldDone]) -> None:
    headers = ("MODEL", "GRAPH", "FUNCTIONS", "RAM", "GRAPH +K", "FUNCTIONS +K", "RAM +K")
    rows = [
        (
            str(ours.fold),
            *_size_cells(theirs),
            *_size_cells(ours),
            "equal" if ours.digest == theirs.digest else "DIFFERENT",
            ours.digest[:12],
        )
        for ours, theirs in zip(monitored, plain, strict=False)
    ]
    say("Without kmonitor, and with it (+K):")
    say_table((*headers, "RESULT", "CHECKSUM"), rows, right=headers)


def _size_cells(fold: FoldDone) -> tuple[str, str, str]:
    ram = plain_text(bytes_text(fold.ram_bytes))
    return plain_text(count_text(fold.operations)), str(fold.functions), ram


def _sentences(
    shown: Shown, monitored: Sequence[FoldDone], plain: Sequence[FoldDone] | None
) -> list[str]:
    sentences: list[str] = []
    if plain:
        grew = bytes_text(max(0, plain[-1].ram_bytes - plain[0].ram_bytes))
        sentences.append(
            f"Without kmonitor each model left {count_text(growth_per_model(plain))} operations "
            f"behind; RAM grew by {grew} over {len(plain) - 1} models."
        )
    if monitored:
        sentences.append(
            f"With it the graph peaked at {count_text(shown.peak_operations)} operations and "
            f"ended at {count_text(monitored[-1].operations)}."
        )
    sentences += [record_sentence(record) for record in shown.reloads]
    if shown.reloads:
        n = shown.epochs_after
        sentences.append(f"{n} more {'epoch' if n == 1 else 'epochs'} followed the first reload.")
    return sentences
