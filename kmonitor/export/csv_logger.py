"""A fit's epochs in the form of `keras.callbacks.CSVLogger`, for programs that read its files."""

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, TextIO

from kmonitor.base.errors import UserError
from kmonitor.connect.hub_client import HubClient
from kmonitor.export.events import decode_row
from kmonitor.export.table_formats import atomic_text_file, spreadsheet_safe
from kmonitor_agent.wire.messages.events import EpochEnded
from kmonitor_agent.wire.messages.unions import RunSummary

_ABSENT: Final = "NA"


class CsvLoggerExport:
    """Writes out one fit of a run; for one thread."""

    def __init__(self, client: HubClient, run: RunSummary, fit: int | None = None) -> None:
        """Args: `fit`: Ordinal of the fit, from 1; None: the last one in which an epoch ended."""
        self._client = client
        self._run = run
        self._fit = fit

    def into_file(self, output: Path) -> int:
        """Write to a file, replacing it; return the number of lines. Raises: see `as_text`."""
        epochs = self._epochs()
        with atomic_text_file(output) as text:
            return write_csv_logger(epochs, text)

    def as_text(self, file: TextIO) -> int:
        """Write to an open file; return the number of lines without the titles.

        Raises:
            UserError: No epoch of the fit has ended, or there is no such fit.
        """
        return write_csv_logger(self._epochs(), file)

    def _epochs(self) -> list[EpochEnded]:
        ended = list(self._ended())
        fits = sorted({epoch.fit for epoch in ended})
        if not fits:
            raise UserError(
                f"{self._run.name} has not completed an epoch, so there is nothing to write."
            )
        fit = fits[-1] if self._fit is None else self._fit
        # An epoch that a restarted process ran again counts as it was the last time.
        found = {epoch.epoch: epoch for epoch in ended if epoch.fit == fit}
        if not found:
            listed = ", ".join(map(str, fits))
            raise UserError(
                f"In {self._run.name}, fit {fit} has not completed an epoch.",
                f"Use --fit {listed}.",
            )
        return [found[epoch] for epoch in sorted(found)]

    def _ended(self) -> Iterator[EpochEnded]:
        for row in self._client.all_rows(self._run.run, ("epoch_end",)):
            event = decode_row(row)
            if isinstance(event, EpochEnded):
                yield event


def write_csv_logger(epochs: Iterable[EpochEnded], file: TextIO) -> int:
    """Write the epochs of one fit, in order; return their number.

    Columns are "epoch", from 0, and the logs of the first epoch by name. If that epoch has no
    validation logs, a validation column for each log follows. A missing log is "NA".

    Source: keras/src/callbacks/csv_logger.py of Keras 3.15.
    """
    writer: Any = None
    names: list[str] = []
    written = 0
    for ended in epochs:
        if writer is None:
            names = _names(ended)
            writer = csv.writer(file, csv.excel)
            writer.writerow(["epoch", *map(spreadsheet_safe, names)])
        writer.writerow([ended.epoch, *(ended.logs.get(name, _ABSENT) for name in names)])
        written += 1
    return written


def _names(first: EpochEnded) -> list[str]:
    names = sorted(first.logs)
    if not any(name.startswith("val_") for name in names):
        names += [f"val_{name}" for name in names]
    return names
