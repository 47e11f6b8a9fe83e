"""`kmonitor map`: memory of a training, layer by layer, before it runs.

The model comes from a file, a function of a script, or a run. The order below: the command, the
model and its plan, printing, earlier measurements, and smaller inputs for advice.
"""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from cyclopts import Parameter
from cyclopts.validators import Number

from kmonitor.base.errors import UserError
from kmonitor.cli.common.hub_access import open_hub
from kmonitor.cli.common.options import NO_OPTIONS, FileOptions, JsonOption, bytes_from
from kmonitor.cli.common.run_choice import choose_run
from kmonitor.cli.common.terminal import (
    DONE,
    UsageError,
    pluralized,
    print_json,
    print_stderr,
    print_table,
    print_text,
    show_waiting,
    size_text,
    terminal_safe,
)
from kmonitor.connect.hub_client import HubClient
from kmonitor.memory.calibration import (
    MEMORY_EVENT_KINDS,
    FitMemory,
    Measurements,
    PeakMeasurement,
    fit_memories,
    measurements_of,
)
from kmonitor.memory.estimate import MemoryMap, Plan, backend_of
from kmonitor.memory.layer_rules import Backend
from kmonitor.memory.layer_table import LayerMemory
from kmonitor.memory.map_result import MapQuestion, MapResult, begin_map, completing
from kmonitor.memory.model_files.description import (
    ModelSource,
    TracedModel,
    describe,
    has_tensorflow,
    model_source_of,
    trace_model,
)
from kmonitor.memory.model_files.file_layout import layout_of_file
from kmonitor.memory.model_files.output_shapes import CannotTell
from kmonitor.memory.optimizer_slots import OPTIMIZERS
from kmonitor.memory.tensor_sizes import OpenShape, is_open, with_length
from kmonitor.memory.traced_step import Traced
from kmonitor.memory.what_if import BatchFit, PeakReduction
from kmonitor.ui.text.formats import count_text, with_plain_spaces
from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.messages.codec import ProtocolError, decode_event
from kmonitor_agent.wire.messages.events import AnyEvent
from kmonitor_agent.wire.messages.model_layout import ConfigValue, ModelLayout, OptimizerLayout

Precision = Literal["float32", "mixed_float16", "mixed_bfloat16", "float16", "bfloat16", "float64"]
BackendName = Literal["tensorflow", "jax", "torch", "xla"]

_BACKENDS: dict[BackendName, Backend] = {
    "tensorflow": "tensorflow",
    "jax": "xla",
    "xla": "xla",
    "torch": "torch",
}


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """How the model would be trained.

    Attributes:
        batch: Examples a step; 32, or as the run was trained.
        optimizer: Another than the model's, with settings after a colon: adam,
            sgd:momentum=0.9.
        precision: Another dtype policy than the model's.
        backend: How the step is computed; xla is TensorFlow with jit_compile, its default on a
            GPU.
        input_shape: Another shape of the input, without the batch: 224,224,3. Again for each
            further input.
        sequence: Length of every axis that the model leaves open; of a run another than its data
            had, or where they had several.
        measured: A peak that was measured in this very training over at least five steps, to
            correct the estimate by: 32=1.9GiB for a batch of 32. Again for further batches.
        uncalibrated: Use nothing that was measured before.
        by_rules: Do not trace the step; take rules for each class of layer.
    """

    batch: Annotated[int | None, Parameter(validator=Number(gte=1, lte=2**20))] = None
    optimizer: str = ""
    precision: Precision | None = None
    backend: BackendName | None = None
    input_shape: Annotated[list[str] | None, Parameter(negative="")] = None
    sequence: Annotated[int, Parameter(validator=Number(gte=0, lte=2**20), show_default=False)] = 0
    measured: Annotated[list[str] | None, Parameter(negative="")] = None
    uncalibrated: Annotated[bool, Parameter(negative="")] = False
    by_rules: Annotated[bool, Parameter(negative="")] = False


_AS_IT_IS: Final = TrainingOptions()
_RUN: Final = "run:"
_CURVE = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


def memory_map(
    target: str,
    /,
    *,
    training: Annotated[TrainingOptions, Parameter(name="*")] = _AS_IT_IS,
    limit: str = "",
    advice: Annotated[bool, Parameter(negative="")] = False,
    file: Annotated[FileOptions, Parameter(name="*")] = NO_OPTIONS,
    as_json: JsonOption = False,
) -> int:
    """Estimate how much memory training a model will need, layer by layer, before you run it.

    Example: `kmonitor map train.py:build_model --batch 64 --limit 8GiB --advice`

    `script.py:function` runs your script to the end, and then that function, in a separate
    process. From a model file, only the model is built, without its weights; code in it runs
    only with `--allow-code`.

    If kmonitor has monitored training of the same model before, those measurements are used to
    correct the estimate.

    The peak is what the framework's own allocator has in use. The device also holds the
    framework's context and the memory that other processes use.

    Args:
        target: A .keras, .h5 or .json file, script.py:function, or run:NAME, where NAME is a run's
            ID or name, a prefix of either, or `last`.
        training: Training settings.
        limit: Find the largest batch size that fits in this much memory, such as 8GiB. 8G is the
            same; 8GB is 8 x 10^9 bytes.
        advice: List changes that would lower the peak, and by how much.
        file: How the file is read.
        as_json: Print one JSON document.
    """
    limit_bytes = bytes_from(limit, "--limit") if limit else None
    measured = _checked(training)
    layout, plan, peaks, untraced = _planned_model(target, training, file, measured)
    smaller = _smaller(target, layout, file) if advice else {}
    curve = _CURVE if as_json else ()
    question = MapQuestion(layout, plan, peaks, limit_bytes, smaller, curve)
    result = _answered(question, untraced, is_demanded=bool(measured))
    if as_json or limit or advice:
        with _waiting("evaluating other batch sizes and changes") as tick:
            for _ in completing(question, result):
                tick()
    _print_result(layout, result, limit_bytes, has_advice=advice, as_json=as_json)
    return DONE


def _print_result(
    layout: ModelLayout,
    result: MapResult,
    limit_bytes: int | None,
    *,
    has_advice: bool,
    as_json: bool,
) -> None:
    if as_json:
        more = {} if limit_bytes is None else {"fit": result.fit}
        more |= {"advice": result.advice} if has_advice else {}
        print_json({**_document(layout, result), **more})
        return
    if result.found is not None:
        print_map(layout, result.found)
    if result.fit is not None and limit_bytes is not None:
        print_fit(result.fit, limit_bytes)
    if has_advice:
        print_advice(result.advice)


def _checked(options: TrainingOptions) -> list[PeakMeasurement]:
    """Check that all options can be parsed, before a process is started for the model.

    Returns:
        Measured peaks from the options.
    """
    _optimizer(options.optimizer, "")
    for each in options.input_shape or ():
        _lengths(each)
    return list(map(_measured, options.measured or ()))


def _planned_model(
    target: str, options: TrainingOptions, file: FileOptions, peaks: Sequence[PeakMeasurement]
) -> tuple[ModelLayout, Plan, Sequence[PeakMeasurement], str]:
    """The model, its plan, measurements of such trainings, and the reason for an untraced step."""
    before = measured_before
    described = None
    if target.startswith(_RUN):
        if options.input_shape:
            raise UsageError("--input-shape works only with model files and scripts.")
        fit, known = run_memory(target.removeprefix(_RUN))
        layout = _of_length(fit, options.sequence)
        before = known.of
        options = replace(options, batch=options.batch or fit.batch)
    else:
        described = _described(target, options, file)
        layout = described.layout
    plan = _plan(layout, options)
    if not (peaks or options.uncalibrated or is_open(layout)):
        peaks = before(layout, plan)
    if described is None or described.program is None:
        return layout, plan, peaks, described.untraced if described else ""
    traced = Traced(described.program, layout, optimizer=plan.optimizer, precision=plan.precision)
    return layout, replace(plan, traced=traced), peaks, ""


def _of_length(fit: FitMemory, sequence: int) -> ModelLayout:
    try:
        return with_length(fit.open_layout or fit.layout, sequence) if sequence else fit.layout
    except OpenShape as exc:
        raise UserError(
            (
                "The run's model has a layer that may change the sequence length, and the run"
                " did not report how."
            ),
            "Map its file or script instead, with the same --sequence.",
        ) from exc


def _described(target: str, options: TrainingOptions, file: FileOptions) -> TracedModel:
    """The model with its traced step if its code is available; else from the file alone."""
    if not (Path(target).suffix or ":" in target or Path(target).exists()):
        raise UserError(f"File not found: {target}.", f"For a run, use: kmonitor map run:{target}")
    source = model_source_of(
        target, config=file.config, custom=file.custom, allow_code=file.allow_code
    )
    by_file = None
    if target.endswith(".keras") and not (options.input_shape or options.sequence):
        with suppress(CannotTell):  # the framework's classes may
            by_file = layout_of_file(Path(target))
    may_trace = options.backend in (None, "tensorflow") and not options.by_rules
    if by_file is not None and not (may_trace and has_tensorflow()):
        return TracedModel(by_file, None, "")
    if source.script:
        print_stderr(f"kmonitor: running {source.script} in its own process.")
    shape = [_lengths(each) for each in options.input_shape or ()]
    if not may_trace:
        return TracedModel(describe(source, [shape], sequence=options.sequence)[0], None, "")
    try:
        with _waiting("creating the model and tracing its step") as tick:
            return trace_model(
                source,
                shape,
                sequence=options.sequence,
                # There the precision decides on scaling of the loss.
                optimizer=_optimizer(options.optimizer, ""),
                precision=options.precision or "",
                is_cancelled=tick,
            )
    except UserError as exc:
        if by_file is None:
            raise
        return TracedModel(by_file, None, exc.what)


@contextmanager
def _waiting(what: str) -> Generator[Callable[[], bool]]:
    """Show the duration of a wait; the yielded function must be called meanwhile."""
    began_s = time.monotonic()

    def tick() -> bool:
        show_waiting(f"{what}: {time.monotonic() - began_s:.0f} s (press Ctrl+C to cancel)")
        return False

    tick()
    try:
        yield tick
    finally:
        show_waiting("")


def _plan(layout: ModelLayout, options: TrainingOptions) -> Plan:
    precision = options.precision or layout.precision
    return Plan(
        batch=options.batch or _BATCH,
        optimizer=_optimizer(options.optimizer, precision),
        precision=options.precision,
        backend=_BACKENDS[options.backend] if options.backend else backend_of(layout),
    )


_BATCH: Final = 32


def _answered(question: MapQuestion, untraced: str, *, is_demanded: bool) -> MapResult:
    """Return the map, with the reason if it was not traced or not corrected.

    `is_demanded`: the measurements were given by the user.
    """
    try:
        result = begin_map(question)
    except OpenShape as exc:
        shape = tuple("?" if length is None else length for length in exc.shape)
        raise UserError(
            f"The model accepts variable-length input: one of its tensors has shape {shape}.",
            "Set it with --sequence 128. For a file or script, you can also pass the whole "
            "input shape, with --input-shape 224,224,3.",
        ) from exc
    if is_demanded and result.uncorrected:
        raise UserError(f"--measured cannot be used: {result.uncorrected}.")
    reasons = {
        "rules are used because the step could not be traced": untraced,
        "not corrected by measurements": result.uncorrected,
    }
    notes = [f"{what}: {why}" for what, why in reasons.items() if why]
    if result.found is not None:
        result.found = msgspec.structs.replace(result.found, notes=(*result.found.notes, *notes))
    return result


def _smaller(target: str, layout: ModelLayout, file: FileOptions) -> dict[str, ModelLayout]:
    if target.startswith(_RUN):
        return {}  # nothing of a run can make its model again
    source = model_source_of(
        target, config=file.config, custom=file.custom, allow_code=file.allow_code
    )
    return smaller_inputs(source, layout)


def _document(layout: ModelLayout, result: MapResult) -> dict[str, object]:
    fields = {name: getattr(result.found, name) for name in MemoryMap.__struct_fields__}
    return {"model": layout.name, **fields, "curve": result.points}


_BATCH_DIGITS: Final = 10
"""Digits of a batch size that must be a typing error: thousands of millions of samples."""

_MOST_PEAK_BYTES: Final = 2**50
"""Largest accepted peak: a pebibyte, more than any device or host has."""


def _measured(text: str) -> PeakMeasurement:
    batch, _, size = text.partition("=")
    digits = batch.strip()
    is_batch = digits.isdecimal() and len(digits) < _BATCH_DIGITS and int(digits) > 0
    n_bytes = bytes_from(size, "--measured") if size else 0
    if not is_batch or not 0 < n_bytes < _MOST_PEAK_BYTES:
        raise UsageError(f"--measured {text}: use a batch size and its peak, such as 32=1.9GiB.")
    return PeakMeasurement(int(digits), n_bytes)


def _lengths(text: str) -> list[int]:
    parts = text.replace("x", ",").split(",")
    if not all(part.strip().isdigit() and int(part) for part in parts):
        raise UsageError(f"--input-shape {text}: use lengths, such as 224,224,3.")
    return [int(part) for part in parts]


def _optimizer(text: str, precision: str) -> OptimizerLayout | None:
    """An optimizer by its name and settings; None for the model's own."""
    if not text:
        return None
    name, _, settings = text.partition(":")
    if name.lower() not in OPTIMIZERS:
        raise UsageError(f"--optimizer {name} is not valid: use {', '.join(OPTIMIZERS)}.")
    return OptimizerLayout(
        kind=name.lower(),
        settings=dict(_setting(each) for each in settings.split(",") if each),
        loss_scaling=precision == "mixed_float16",
    )


def _setting(text: str) -> tuple[str, ConfigValue]:
    name, _, value = text.partition("=")
    if value.lower() in ("true", "false"):
        return name.strip(), value.lower() == "true"
    try:
        return name.strip(), float(value)
    except ValueError:
        raise UsageError(f"--optimizer: {text} is not a setting, such as momentum=0.9.") from None


_COLUMNS = (
    "LAYER", "TYPE", "PARAMETERS", "TOTAL", "WEIGHTS", "OPTIMIZER", "GRADIENTS", "ACTIVATIONS",
    "WORKSPACE", "",
)  # fmt: skip
_RIGHT = _COLUMNS[2:-1]


def print_map(layout: ModelLayout, found: MemoryMap) -> None:
    """Print the table by layer and the totals below it."""
    print_table(_COLUMNS, map(_row, found.layers), right=_RIGHT, elided="LAYER")
    print_text()
    print_text(_headline(layout, found))
    print_text(
        f"  resident {size_text(found.resident_bytes)}:"
        f" weights {size_text(found.parameter_bytes)}, optimizer {size_text(found.slot_bytes)}"
    )
    gradients = sum(each.gradient_bytes for each in found.layers)
    rest = found.transient_bytes - found.kept_bytes - gradients
    print_text(
        f"  transient {size_text(found.transient_bytes)}, at the peak: kept for the backward"
        f" pass {size_text(found.kept_bytes)}, gradients {size_text(gradients)}, other"
        f" {size_text(rest)}"
    )
    print_text(f"  tier {found.tier}: {found.method}")
    if found.uncovered:
        print_text(
            f"  no rule covers: {', '.join(map(terminal_safe, found.uncovered))};"
            " the interval is wider"
        )
    for note in found.notes:
        print_text(f"  {terminal_safe(note)}")


def _headline(layout: ModelLayout, found: MemoryMap) -> str:
    high = "unknown" if found.high_bytes is None else size_text(found.high_bytes)
    optimizer = found.optimizer or "no optimizer"
    return (
        f"{terminal_safe(layout.name)}: peak {size_text(found.peak_bytes)}"
        f" ({size_text(found.low_bytes)} to {high}) at batch size {found.batch}, {optimizer},"
        f" {found.precision}, {found.backend};"
        f" {pluralized(len(layout.layers), 'layer')}"
    )


def _row(row: LayerMemory) -> tuple[str, ...]:
    return (
        row.path,
        row.kind,
        with_plain_spaces(count_text(row.parameters)) if row.parameters else "",
        *(
            size_text(each) if each else ""
            for each in (row.total_bytes, row.parameter_bytes, row.slot_bytes,
                         row.gradient_bytes, row.kept_bytes, row.workspace_bytes)
        ),
        row.note if row.is_covered else "no rule covers it",
    )  # fmt: skip


def print_fit(fit: BatchFit, limit_bytes: int) -> None:
    """Print the largest batches within a limit."""
    limit = size_text(limit_bytes)
    if fit.likely is None:
        print_text(f"Not even a batch size of 1 is expected to fit within {limit}.")
        return
    print_text(
        f"Largest batch size within {limit}: {fit.likely} by the estimate,"
        f" {fit.certain or 'none'} by its upper bound."
    )


def print_advice(advised: Sequence[PeakReduction]) -> None:
    """Print changes that would lower the peak, the largest saving first."""
    if not advised:
        print_text("No single known change would save even 1 MiB.")
        return
    rows = [
        (size_text(each.saved_bytes), size_text(each.peak_bytes), each.words) for each in advised
    ]
    print_table(("SAVES", "THEN", "CHANGE"), rows, right=("SAVES", "THEN"), folds=("CHANGE",))


def measured_before(layout: ModelLayout, plan: Plan) -> tuple[PeakMeasurement, ...]:
    """Earlier measurements of the same model, trained in the same way.

    A hub is queried, and started, only if a hub has stored data or a training has left some.
    """
    folders = find_folders()
    if not (folders.database.exists() or folders.spool.exists()):
        return ()
    try:
        with open_hub() as client:
            return _all_measurements(client).of(layout, plan)
    except UserError as exc:
        print_stderr(f"kmonitor: earlier measurements are not used: {exc.what}")
        return ()


def run_memory(wanted: str) -> tuple[FitMemory, Measurements]:
    """Return the newest fit of a run whose model is known, and the measurements of all runs.

    Args:
        wanted: The run's id, the beginning of one, its name, or `last`.

    Raises:
        UserError: There is no such run, or its model was not sent.
    """
    with open_hub() as client:
        run = choose_run(client.runs(), wanted)
        fits = fit_memories(_events(client, run.run))
        if not fits:
            raise UserError(
                f"{run.name} has not reported its model.",
                "Runs with Keras 3 report it at the start of a fit, unless they are private.",
            )
        return fits[-1], _all_measurements(client)


def _all_measurements(client: HubClient) -> Measurements:
    return measurements_of(
        fit for run in _measured_runs(client) for fit in fit_memories(_events(client, run))
    )


def _events(client: HubClient, run: str) -> Iterator[AnyEvent]:
    for row in client.all_rows(run, MEMORY_EVENT_KINDS):
        try:
            yield decode_event(row.body)
        except ProtocolError:
            continue  # of a newer agent


def _measured_runs(client: HubClient) -> list[str]:
    """Ids of the runs with a measured peak, oldest first."""
    found: dict[str, None] = {}
    cursor = 0
    more = True
    while more:
        page = client.rows(cursor=cursor, kinds=["step_peak"])
        found.update((row.run, None) for row in page.rows)
        cursor = page.cursor
        more = page.more
    return list(found)


_PICTURE = 3
_LEAST = 8
"""Least halved side or length, so that the few features of a table stay."""


def smaller_inputs(source: ModelSource, layout: ModelLayout) -> dict[str, ModelLayout]:
    """Layouts of the model with smaller inputs, by the text of the change; may be empty.

    Args:
        source: Source of the model, which is built in a separate process.
        layout: Layout of the unchanged model.
    """
    found = _halved(layout)
    if found is None:
        return {}
    change_text, shape = found
    print_stderr("kmonitor: creating the model with a smaller input, in a separate process.")
    try:
        return {change_text: describe(source, [[shape]])[0]}
    except UserError:
        return {}  # its weights were made for this very shape, or there is no framework here


def _halved(layout: ModelLayout) -> tuple[str, list[int]] | None:
    """Text and shape of an input half as high and wide, or half as long; None for other inputs."""
    if len(layout.inputs) != 1 or not layout.calls:
        return None
    tensor = layout.tensors[layout.inputs[0]]
    lengths = [each for each in tensor.shape[1:] if each is not None]
    if len(lengths) != len(tensor.shape) - 1 or not lengths or lengths[0] < 2 * _LEAST:
        return None
    if len(lengths) == _PICTURE and lengths[1] >= 2 * _LEAST:
        high, wide, channels = lengths
        change_text = (
            f"input {high // 2} x {wide // 2} instead of {high} x {wide}; the model sees less"
            " detail"
        )
        return change_text, [high // 2, wide // 2, channels]
    is_series = len(lengths) == 2 or (len(lengths) == 1 and "int" in tensor.dtype)  # noqa: PLR2004
    if is_series:
        change_text = (
            f"length {lengths[0] // 2} instead of {lengths[0]}; the model sees less of each"
            " example"
        )
        return change_text, [lengths[0] // 2, *lengths[1:]]
    return None
