"""`kmonitor demo`: a real training that leaks, watched, limited, reloaded, and compared."""

import importlib.util
import os
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter
from cyclopts.validators import Number

from kmonitor.base.errors import UserError
from kmonitor.base.installation import how_to_add
from kmonitor.cli.common.display import Display, find_display
from kmonitor.cli.common.hub_access import folder_faults_named
from kmonitor.cli.common.terminal import (
    DONE,
    FAILED,
    UsageError,
    print_stderr,
    print_table,
    print_text,
    size_text,
)
from kmonitor.cli.demo.evidence import DemoEvidence, growth_per_model, missing
from kmonitor.cli.demo.processes import DemoScene
from kmonitor.cli.window import check_screenshot_folder, check_screenshot_name, ready_for_qt
from kmonitor.connect.local_hub import stop_hub
from kmonitor.demo.reports import FoldDone
from kmonitor.demo.training import MODELS_BEFORE_LIMIT
from kmonitor.ui.events.action_records import record_summary
from kmonitor.ui.text.formats import bytes_text, count_text, with_plain_spaces
from kmonitor.ui.verdicts.verdict_text import verdict_headline
from kmonitor_agent.wire.local.folders import find_folders

SCREENSHOT = Path("kmonitor-demo.png")

_FEWEST_FOLDS = MODELS_BEFORE_LIMIT + 2
"""Fewest models: two determine the limit, the fourth crosses it."""


_LONGEST_S: Final = 86400.0
"""Longest duration of the demo: a day, seconds."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Options:
    """Options of `kmonitor demo`.

    Attributes:
        folds: Models that are trained one after the other.
        epochs: Epochs of each model.
        seconds: About how long the training lasts; epochs are held back so that people can
            watch. 0: as fast as it goes. Without it: 120 with a screen, 30 without.
        no_plain: Leave out the same training without kmonitor, and the comparison with it.
        no_window: Neither window nor picture.
        png: Draw the window into this file instead of showing it; without a screen this is
            done anyway, into kmonitor-demo.png.
        temporary: Keep every file in a folder that is removed at the end, instead of among
            your other runs.
    """

    folds: Annotated[int, Parameter(validator=Number(gte=_FEWEST_FOLDS, lte=1000))] = 6
    epochs: Annotated[int, Parameter(validator=Number(gte=2, lte=1000))] = 4
    seconds: Annotated[float | None, Parameter(validator=Number(gte=0, lte=_LONGEST_S))] = None
    no_plain: Annotated[bool, Parameter(negative="")] = False
    no_window: Annotated[bool, Parameter(negative="")] = False
    png: Path | None = None
    temporary: Annotated[bool, Parameter(negative="")] = False


def demo(*, options: Options = Options()) -> int:
    """Watch a real Keras training run leak memory, and see how kmonitor fixes it.

    Example: `kmonitor demo`

    A cross-validation on synthetic handwritten digits: small convolutional networks, trained one
    after another in one process. Keras keeps the traced graphs of each one, so the graph and
    memory use grow. After two models, the demo sets a limit. When the fourth crosses it, the
    training run saves, clears and reloads itself in the middle of `fit`, then continues. The same
    training runs alongside it without kmonitor, and the results are compared bit for bit.

    Exit status: 1 if memory does not grow, the limit is not crossed, the reload is not recorded,
    or the results differ.
    """
    plan = _plan(options)
    _check_screenshot_options(options, plan)
    _require_keras()
    if plan.window:
        ready_for_qt(offscreen=plan.screenshot is not None)
    with _home(temporary=options.temporary):
        return play(plan)


_WATCHED_S = 120.0
_UNWATCHED_S = 30.0
"""Approximate duration of the trainings with a screen and without, seconds."""


@dataclass(frozen=True, slots=True)
class DemoPlan:
    """Plan of a demo.

    Attributes:
        folds: Number of models.
        epochs: Epochs of each model.
        seconds: Approximate duration of the training; 0: as fast as possible.
        plain: True if the same training also runs without kmonitor.
        screenshot: File for a picture of the window; None: show a window.
        window: True if there is a window or a picture.
    """

    folds: int
    epochs: int
    seconds: float
    plain: bool
    screenshot: Path | None
    window: bool

    def arguments(self) -> list[str]:
        """Arguments for `kmonitor.demo.training`."""
        pace_s = self.seconds / (self.folds * self.epochs)
        return [f"--folds={self.folds}", f"--epochs={self.epochs}", f"--pace={pace_s:.3f}"]


def _plan(options: Options) -> DemoPlan:
    on_screen = find_display().display is Display.SCREEN
    screenshot = options.png if on_screen else options.png or SCREENSHOT
    shown = screenshot is None and not options.no_window
    return DemoPlan(
        folds=options.folds,
        epochs=options.epochs,
        seconds=(_WATCHED_S if shown else _UNWATCHED_S)
        if options.seconds is None
        else options.seconds,
        plain=not options.no_plain,
        screenshot=screenshot,
        window=not options.no_window,
    )


def _check_screenshot_options(options: Options, plan: DemoPlan) -> None:
    if options.png is not None and options.no_window:
        raise UsageError(
            "--png needs the window, so it cannot be combined with --no-window.",
            "Use only one of them.",
        )
    if plan.screenshot is None or not plan.window:
        return
    try:
        check_screenshot_name(plan.screenshot)
        check_screenshot_folder(plan.screenshot)
    except UserError as exc:
        raise UsageError(exc.what, exc.remedy) from exc


def _require_keras() -> None:
    lacking = [name for name in ("keras", "tensorflow") if importlib.util.find_spec(name) is None]
    if lacking:
        raise UserError(
            f"The demo needs packages that are not installed: {' and '.join(lacking)}.",
            how_to_add("demo"),
        )


@contextmanager
def _home(*, temporary: bool) -> Generator[None]:
    if not temporary:
        yield
        return
    before = os.environ.get("KMONITOR_HOME")
    with tempfile.TemporaryDirectory(prefix="kmonitor-demo-") as home:
        os.environ["KMONITOR_HOME"] = home
        try:
            yield
        finally:
            stop_hub(find_folders())
            if before is None:
                del os.environ["KMONITOR_HOME"]
            else:
                os.environ["KMONITOR_HOME"] = before


def play(plan: DemoPlan) -> int:
    """Run the demo in the current home; returns the exit status."""
    folders = find_folders()
    with folder_faults_named(folders), DemoScene(folders, plan.arguments()) as scene:
        scene.start(plain=plan.plain)
        if plan.window and plan.screenshot is None:
            scene.open_window()
        scene.watch()
        shown = scene.stored_evidence()
        print_comparison(shown, scene.monitored, scene.plain, run=scene.run)
        lacking = missing(shown, scene.monitored, scene.plain)
        for missing_text in lacking:
            print_stderr(f"kmonitor demo: missing: {missing_text}")
        if not lacking:
            print_text(
                "Demo complete: growth, limit crossed, reload"
                " recorded" + (", identical results." if plan.plain else ".")
            )
        if plan.window and plan.screenshot is not None:
            # Last: a picture that fails takes nothing of the result along.
            scene.draw_window(plan.screenshot)
        scene.wait_for_window()
    return FAILED if lacking else DONE


def print_comparison(
    evidence: DemoEvidence,
    monitored: Sequence[FoldDone],
    plain: Sequence[FoldDone] | None,
    *,
    run: str,
) -> None:
    """Print models side by side, the peak, the growth, and the memory freed by each reload.

    Args:
        evidence: Evidence stored by the hub.
        monitored: Models trained with kmonitor.
        plain: Models trained without kmonitor; None if there are none.
        run: Run id.
    """
    print_text()
    if plain:
        _print_side_by_side(monitored, plain)
        print_text()
    for sentence in _comparison_sentences(evidence, monitored, plain):
        print_text(with_plain_spaces(sentence))
    print_text(f"To see it again: kmonitor show {run[:8]}")
    print_text()


def _print_side_by_side(monitored: Sequence[FoldDone], plain: Sequence[FoldDone]) -> None:
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
    print_text("Without kmonitor, and with it (+K):")
    print_table((*headers, "RESULT", "CHECKSUM"), rows, right=headers)


def _size_cells(fold: FoldDone) -> tuple[str, str, str]:
    operations = with_plain_spaces(count_text(fold.operations))
    return operations, str(fold.functions), size_text(fold.ram_bytes)


def _comparison_sentences(
    evidence: DemoEvidence, monitored: Sequence[FoldDone], plain: Sequence[FoldDone] | None
) -> list[str]:
    sentences: list[str] = []
    if plain:
        grew = bytes_text(max(0, plain[-1].ram_bytes - plain[0].ram_bytes))
        sentences.append(
            f"Without kmonitor, each model left {count_text(growth_per_model(plain))} operations "
            f"behind; RAM grew by {grew} over {len(plain) - 1} models."
        )
    if monitored:
        sentences.append(
            f"With it, the graph peaked at {count_text(evidence.peak_operations)} operations and "
            f"ended at {count_text(monitored[-1].operations)}."
        )
    if evidence.graph_verdict is not None:
        headline = verdict_headline(evidence.graph_verdict, is_final=True)
        sentences.append(f"The verdict on the graph size: {headline}.")
    sentences += [record_summary(record) for record in evidence.reloads]
    if evidence.reloads:
        n = evidence.epochs_after
        sentences.append(f"{n} more {'epoch' if n == 1 else 'epochs'} followed the first reload.")
    return sentences
