"""A fit's epochs come out as Keras' own CSVLogger writes them, to the byte."""

import csv
import io
import math
from pathlib import Path
from typing import Any

import pytest

from kmonitor.base.errors import UserError
from kmonitor.connect.hub_client import HubClient
from kmonitor.export.csv_logger import CsvLoggerExport, write_csv_logger
from kmonitor.export.table_formats import TableColumn, write_csv
from kmonitor_agent.wire.messages.events import EpochEnded
from tests.support.live_hub import LiveHub
from tests.support.simulated_agent import SimulatedAgent


def ended(epoch: int, **logs: float) -> EpochEnded:
    return EpochEnded(t_s=1.0, fit=1, epoch=epoch, seconds=1.0, logs=logs)


def written(epochs: list[EpochEnded], folder: Path) -> bytes:
    with (folder / "ours.csv").open("w", encoding="utf-8", newline="") as file:
        assert write_csv_logger(epochs, file) == len(epochs)
    return (folder / "ours.csv").read_bytes()


@pytest.mark.keras
@pytest.mark.parametrize(
    "epochs",
    [
        [{"loss": 1 / 3, "val_loss": 0.1 + 0.2}, {"loss": 1e-17, "val_loss": 2.0}],
        [{"loss": 0.5, "accuracy": 1.0}, {"loss": math.nan, "accuracy": math.inf}],
        [{"loss": 0.5}, {}],
        [{'a,"b"': 0.5, "learning_rate": 1e-05}, {"loss": 0.25}],
    ],
    ids=["validation", "not finite", "absent later", "other names"],
)
def test_it_is_what_keras_writes(epochs: list[dict[str, float]], tmp_path: Path):
    from keras.callbacks import CSVLogger  # noqa: PLC0415 - takes seconds

    logger: Any = CSVLogger(str(tmp_path / "theirs.csv"))
    logger.on_train_begin()
    for epoch, logs in enumerate(epochs):
        logger.on_epoch_end(epoch, logs)
    logger.on_train_end()

    ours = written([ended(epoch, **logs) for epoch, logs in enumerate(epochs)], tmp_path)
    assert ours == (tmp_path / "theirs.csv").read_bytes()


@pytest.mark.parametrize(
    "hostile", ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", " =1", "\t=1", "a\x1b[2J\r\n=1"]
)
def test_no_title_or_text_is_a_formula_or_acts_on_a_terminal(hostile: str):
    table, log = io.StringIO(), io.StringIO()

    columns = [TableColumn(hostile, "text"), TableColumn("number", "number")]
    write_csv(columns, [[hostile, -1.5]], table)
    write_csv_logger([ended(0, **{hostile: -1.5})], log)

    rows = list(csv.reader(io.StringIO(table.getvalue())))
    titles = next(csv.reader(io.StringIO(log.getvalue(), newline="")))
    texts = [rows[0][0], rows[1][0], *titles]
    assert not [each for each in texts if each.lstrip().startswith(("=", "+", "-", "@"))]
    assert all(each.isprintable() for each in texts)
    assert rows[1][1] == "-1.5"


def test_the_last_fit_is_written_and_another_one_where_it_is_asked_for(
    live_hub: LiveHub, client: HubClient, tmp_path: Path
):
    with SimulatedAgent(live_hub.folders, name="two fits") as agent:
        for loss in (0.5, 0.25):
            agent.start_fit()
            agent.start_epoch()
            agent.end_epoch(loss=loss)
        agent.start_fit()  # which has not come to an epoch's end
        agent.wait_acked()
        (run,) = client.runs()

        assert CsvLoggerExport(client, run).into_file(tmp_path / "log.csv") == 1
        assert (tmp_path / "log.csv").read_bytes() == b"epoch,loss,val_loss\r\n0,0.25,NA\r\n"
        text = io.StringIO(newline="")
        CsvLoggerExport(client, run, fit=1).as_text(text)
        assert text.getvalue().splitlines()[1] == "0,0.5,NA"
        with pytest.raises(UserError, match=r"fit 3 has not .* --fit 1, 2\."):
            CsvLoggerExport(client, run, fit=3).as_text(text)


def test_a_run_without_an_epoch_is_refused_and_leaves_no_file(
    live_hub: LiveHub, client: HubClient, tmp_path: Path
):
    with SimulatedAgent(live_hub.folders, name="young") as agent:
        agent.start_fit()
        agent.wait_acked()
        (run,) = client.runs()

        with pytest.raises(UserError, match="young has not completed an epoch"):
            CsvLoggerExport(client, run).into_file(tmp_path / "log.csv")
        assert not list(tmp_path.glob("log*"))
