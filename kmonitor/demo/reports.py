"""Reports from the demo's training to the demo, one JSON object per line."""

import msgspec


class DemoReport(msgspec.Struct, frozen=True, tag_field="report"):
    """Base of all reports."""


class Began(DemoReport, frozen=True, tag="began"):
    """The data are loaded and the training begins.

    Attributes:
        run: Run id; empty without kmonitor.
        images: Number of images.
        folds: Number of planned models.
    """

    run: str
    images: int
    folds: int


class FoldDone(DemoReport, frozen=True, tag="fold"):
    """One model of the cross-validation has been trained and released.

    Attributes:
        fold: Number of the model, from 1.
        seconds: Duration of the training.
        operations: Operations in all live traces of the process at the end of the training.
        functions: Functions registered with the runtime.
        ram_bytes: Resident set of the process, on Linux without file pages and shared pages.
        accuracy: Accuracy on the images left out.
        digest: Digest of all variables of model and optimizer, and of the history.
    """

    fold: int
    seconds: float
    operations: int
    functions: int
    ram_bytes: int
    accuracy: float
    digest: str


class LimitTaken(DemoReport, frozen=True, tag="limit"):
    """The limit for the rest of the training.

    Attributes:
        operations: Graph size at which the training is reloaded.
        growth: Operations that the second model added.
    """

    operations: int
    growth: int


AnyDemoReport = Began | FoldDone | LimitTaken

_decoder: "msgspec.json.Decoder[AnyDemoReport]" = msgspec.json.Decoder(AnyDemoReport)


def as_line(report: AnyDemoReport) -> str:
    """Encode a report as one line of JSON."""
    return msgspec.json.encode(report).decode()


def from_line(line: str) -> AnyDemoReport | None:
    """Decode the report in a line; None for any other output of a process."""
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeError):
        return None
