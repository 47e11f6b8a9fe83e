"""`kmonitor load-cost`: cost of loading a model, with separate processes for each method."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from kmonitor.cli.common.options import NO_OPTIONS, FileOptions, JsonOption
from kmonitor.cli.common.terminal import (
    DONE,
    UsageError,
    print_json,
    print_stderr,
    print_table,
    print_text,
    size_text,
    terminal_safe,
)
from kmonitor.memory.model_files.description import model_source_of
from kmonitor.memory.model_files.load_cost import (
    LOADING_METHODS,
    REPEATS,
    LoadCost,
    LoadingMethod,
    Recommendation,
    measure,
    possible_methods,
    recommend,
)


def load_cost(
    file: Path,
    /,
    *,
    ways: str = "all",
    repeats: Annotated[int, Parameter(validator=Number(gte=1, lte=100))] = REPEATS,
    options: Annotated[FileOptions, Parameter(name="*")] = NO_OPTIONS,
    as_json: JsonOption = False,
) -> int:
    """Measure the memory and time needed to load a model, and check whether training can continue.

    Example: `kmonitor load-cost model.keras`

    Each loading method runs in new processes, in alternating order. The results are median memory
    and best time. Memory is the RAM that the process uses beyond
    what importing the framework takes. No GPU is used.

    Args:
        file: A .keras, .h5 or .weights.h5 file.
        ways: all, or a comma-separated list of compiled, uncompiled, weights, recompiled and
            built.
        repeats: Processes per method.
        options: How the file is read.
        as_json: Print one JSON document.
    """
    chosen = _chosen(ways, possible_methods(file))
    source = model_source_of(
        str(file), config=options.config, custom=options.custom, allow_code=options.allow_code
    )
    costs = measure(file, source, chosen, repeats=repeats, on_progress=_progress)
    found = recommend(costs)
    if as_json:
        rows = [{name: getattr(each, name) for name in each.__struct_fields__} for each in costs]
        print_json({"file": str(file), "methods": rows, "recommended": found})
        return DONE
    print_table(
        ("METHOD", "PEAK", "KEPT", "SECONDS", "OPTIMIZER", "TRAINING CAN CONTINUE"),
        map(_row, costs),
        right=("PEAK", "KEPT", "SECONDS"),
        folds=("OPTIMIZER",),
    )
    print_text()
    for line in _lines(found):
        print_text(line)
    return DONE


def _chosen(text: str, possible: tuple[LoadingMethod, ...]) -> list[LoadingMethod]:
    wanted = [each.strip() for each in text.split(",")]
    if wanted == ["all"]:
        return list(possible)
    unknown = [each for each in wanted if each not in possible]
    if unknown:
        raise UsageError(
            f"--ways {', '.join(unknown)}: the methods for this file are {', '.join(possible)}."
        )
    return [method for method in possible if method in wanted]


def _progress(done: int, total: int) -> None:
    print_stderr(f"kmonitor: {done} of {total} processes have finished.")


def _row(cost: LoadCost) -> tuple[str, ...]:
    if cost.error:
        return (
            LOADING_METHODS[cost.loading_method],
            "",
            "",
            "",
            f"does not work: {cost.error}",
            "no",
        )
    return (
        LOADING_METHODS[cost.loading_method],
        size_text(cost.peak_bytes),
        size_text(cost.resident_bytes),
        f"{cost.seconds:.2f}",
        cost.optimizer,
        "exactly" if cost.can_train_on else "no",
    )


def _lines(found: Recommendation) -> list[str]:
    predict = LOADING_METHODS[found.predict] if found.predict else "no method works"
    train = (
        LOADING_METHODS[found.train]
        if found.train
        else "none: no method restores the optimizer's state"
    )
    return [
        terminal_safe(f"For prediction only: {predict}."),
        terminal_safe(f"To continue training: {train}."),
        "Model files contain neither the order of the data nor the seeds of your script.",
    ]
