"""Reports from the demo's training to the demo, one JSON object a line."""

import msgspec


class DemoReport(msgspec.Struct, frozen=True, tag_field="report"):
    """Common part."""


class Began(DemoReport, frozen=True, tag="began"):
    """The data are there and the training begins.

    Attributes:
        run: Run id; empty without kmonitor.
        images: How many there are.
        folds: Planned models.
    """

    run: str
    images: int
    folds: int


class FoldDone(DemoReport, frozen=True, tag="fold"):
    """One model of the cross-validation is trained and given up.

    Attributes:
        fold: From 1.
        seconds: It took.
        operations: In all live traces of the process, when its training ended.
        functions: Registered with the runtime.
        ram_bytes: Resident set of the process, on Linux without pages of files and shared ones.
        accuracy: On the images left out.
        digest: Of all variables of model and optimizer, and of the history.
    """

    fold: int
    seconds: float
    operations: int
    functions: int
    ram_bytes: int
    accuracy: float
    digest: str


class LimitTaken(DemoReport, frozen=True, tag="limit"):
    """The limit that the rest of the training runs under.

    Attributes:
        operations: Graph size at which the training is to be reloaded.
        growth: Operations that the second model added.
    """

    operations: int
    growth: int


AnyDemoReport = Began | FoldDone | LimitTaken

_decoder: "msgspec.json.Decoder[AnyDemoReport]" = msgspec.json.Decoder(AnyDemoReport)


def as_line(report: AnyDemoReport) -> str:
    """As one line of JSON."""
    return msgspec.json.encode(report).decode()


def from_line(line: str) -> AnyDemoReport | None:
    """The report in a line; None for anything else that a process prints."""
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeError):
        return None
