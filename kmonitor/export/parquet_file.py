"""The table of samples and epochs as a Parquet file, by pyarrow where that is installed."""

import importlib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, BinaryIO, Final

from kmonitor.base.errors import Expected
from kmonitor.base.installation import how_to_add
from kmonitor.export.table_formats import TableColumn

_ROWS_A_GROUP: Final = 32_768


def see_parquet() -> None:
    """See that Parquet can be written here. Raises: `Expected`, with the line to run."""
    _pyarrow("pyarrow")


def write_parquet(
    columns: Sequence[TableColumn],
    rows: Iterable[dict[str, Any]],
    file: BinaryIO,
    *,
    about: Mapping[str, str],
) -> int:
    """Write the table.

    Each field's metadata say `unit`, `source`, and in `absent` why there is no value; what was
    not read is null.

    Args:
        columns: Of the table.
        rows: Cells by column.
        file: Open for writing.
        about: What the file says of the run as a whole.

    Returns:
        Rows written.
    """
    arrow, parquet = _pyarrow("pyarrow"), _pyarrow("pyarrow.parquet")
    schema = _schema(arrow, columns, about)
    written = 0
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for some in _grouped(rows, _ROWS_A_GROUP):
            table = {column.name: [row.get(column.name) for row in some] for column in columns}
            writer.write_table(arrow.Table.from_pydict(table, schema=schema))
            written += len(some)
    return written


def _pyarrow(module: str) -> Any:
    # By name: an optional package, which a command that does not need it must not ask for.
    try:
        return importlib.import_module(module)
    except ImportError as exc:
        raise Expected(
            "Parquet needs pyarrow, not installed here.",
            f"{how_to_add('parquet')}   Or export as CSV or JSON.",
        ) from exc


def _schema(arrow: Any, columns: Sequence[TableColumn], about: Mapping[str, str]) -> Any:
    types = {"text": arrow.string(), "whole": arrow.int64(), "number": arrow.float64()}
    fields = [
        arrow.field(column.name, types[column.kind], metadata=_metadata(column))
        for column in columns
    ]
    return arrow.schema(fields, metadata=dict(about))


def _metadata(column: TableColumn) -> dict[str, str]:
    told = {"unit": column.unit, "source": column.source, "absent": column.absent}
    return {key: text for key, text in told.items() if text}


def _grouped(rows: Iterable[dict[str, Any]], size: int) -> Iterable[list[dict[str, Any]]]:
    several = iter(rows)
    while some := list(itertools.islice(several, size)):
        yield some
