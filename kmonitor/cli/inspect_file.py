"""`kmonitor inspect`: contents of a model file, and how the model was compiled."""

from pathlib import Path

from kmonitor.cli.common.options import JsonOption
from kmonitor.cli.common.terminal import (
    DONE,
    pluralized,
    print_json,
    print_table,
    print_text,
    size_text,
    terminal_safe,
)
from kmonitor.memory.model_files.inspection import CompileSettings, ModelFile, inspect_file
from kmonitor.ui.memory.model_file import settings_text
from kmonitor.ui.text.formats import count_text, with_plain_spaces

_FORMS = {"keras": "Keras archive", "h5": "HDF5 model", "weights": "HDF5, weights only",
          "json": "JSON, architecture only"}  # fmt: skip


def inspect_model(
    file: Path,
    /,
    *,
    as_json: JsonOption = False,
) -> int:
    """Show how the model in a file was compiled and what is in each layer, without a framework.

    Example: `kmonitor inspect model.keras`

    No code in the file is run. HDF5 files are opened in a separate process, because a damaged file
    can crash the process that reads it.

    Args:
        file: A .keras, .h5, .weights.h5 or .json file.
        as_json: Print one JSON document.
    """
    found = inspect_file(file)
    if as_json:
        print_json(found)
        return DONE
    if found.form != "json":
        _print_layers(found)
        print_text()
    for line in _lines(found):
        print_text(terminal_safe(line))
    return DONE


def _print_layers(found: ModelFile) -> None:
    print_table(
        ("LAYER", "TYPE", "PARAMETERS", "IN THE FILE", "SHAPES"),
        [
            (each.path, each.kind, with_plain_spaces(count_text(each.parameters)),
             size_text(each.stored_bytes), " ".join(str(shape) for shape in each.shapes))
            for each in found.layers
        ],
        right=("PARAMETERS", "IN THE FILE"),
        elided="SHAPES",
    )  # fmt: skip


def _lines(found: ModelFile) -> list[str]:
    lines = [f"{found.path}: {_FORMS[found.form]}, {size_text(found.file_bytes)}"]
    if found.model:
        lines.append(f"  model {found.model} ({found.kind}), {', '.join(found.precision)}")
    versions = [
        f"{name} {value}"
        for name, value in (("Keras", found.keras_version), ("backend", found.backend),
                            ("saved", found.saved))
        if value
    ]  # fmt: skip
    if versions:
        lines.append(f"  {', '.join(versions)}")
    lines.append(
        "  no weights"
        if found.form == "json"
        else f"  weights {size_text(found.weight_bytes)} "
        f"({with_plain_spaces(count_text(found.parameters))} parameters); optimizer "
        f"{size_text(found.slot_bytes)} in {pluralized(found.slots, 'array')}"
    )
    lines += _compiled_lines(found.compile_settings)
    if found.own_parts:
        lines.append(f"  custom objects: {', '.join(found.own_parts)}")
    return lines


def _compiled_lines(compile_settings: CompileSettings | None) -> list[str]:
    if compile_settings is None:
        return ["  not compiled, or the file does not record it"]
    settings = settings_text(compile_settings.settings)
    metrics = ", ".join(compile_settings.metrics) or "none"
    return [
        f"  optimizer {compile_settings.optimizer or 'none'}"
        + (f": {settings}" if settings else ""),
        f"  loss {compile_settings.loss or 'none'}; metrics {metrics}",
    ]
