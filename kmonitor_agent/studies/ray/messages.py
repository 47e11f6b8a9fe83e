"""Messages between the study and a Ray task: plain bytes, which Ray carries."""

from typing import Final

import msgspec

from kmonitor_agent.reclaim.restart.crash_diagnosis import ProcessDeath
from kmonitor_agent.studies.attempts import Attempt
from kmonitor_agent.studies.carried_function import CarriedFunction
from kmonitor_agent.studies.fold_messages import FitPhase
from kmonitor_agent.wire.messages.study_events import FoldCause
from kmonitor_agent.wire.spool.format import SessionFacts


class AttemptJob(msgspec.Struct, frozen=True):
    """What a task is to do: one attempt of one fold.

    Attributes:
        study: The study's id.
        folder: Path of the study's folder, where the node may find it too.
        host: Mark of the host that the study runs on.
        fold: Index, from 0.
        folds: How many the study has.
        attempt: From 1.
        saves_each_epoch: Whether fits save their state, since the fold may be tried again.
        keeps_files: Whether its files stay on the node when it is killed, for the next attempt.
        function: For the fold's own process; Ray carries it, the task does not load it.
        argv: The script's arguments.
        path: Where the study's process looks for modules.
        cwd: Its working directory.
        environ: Variables of it that say how frameworks compute.
        folder_environment: Variables of it with the folders of kmonitor on that host.
        hub: `KMONITOR_HUB` for nodes elsewhere: a hub that they reach, or "off".
        splits: Name to bytes of the files with this fold's indices.
        runs: Run name to run id of the attempts before.
        memory: As given to `run_folds`.
        timeout_s: Likewise.
        gpus: How many GPUs Ray gives it.
    """

    study: str
    folder: str
    host: str
    fold: int
    folds: int
    attempt: int
    saves_each_epoch: bool
    keeps_files: bool
    function: CarriedFunction
    argv: list[str]
    path: list[str]
    cwd: str
    environ: dict[str, str]
    folder_environment: dict[str, str]
    hub: str
    splits: dict[str, bytes]
    runs: dict[str, str]
    memory: str | float | None
    timeout_s: float | None
    gpus: int


class AttemptStarted(msgspec.Struct, frozen=True, tag="started"):
    """The task runs.

    Attributes:
        node: Ray's id of the node.
        host: Name of its host.
        stop_order_path: Folder there that takes a `StopOrder`.
        has_folder: It sees the study's folder, and no file needs to be carried.
    """

    node: str
    host: str
    stop_order_path: str
    has_folder: bool


class AttemptProgress(msgspec.Struct, frozen=True, tag="progress"):
    """How far the attempt is.

    Attributes:
        is_ready: The function was found.
        elapsed_s: Since it began.
        steps: So far.
        share: Of its work, 0..1; None: not known.
        phase: Where in a fit it is.
        silent_s: Since its last step.
        longest_gaps_s: Its longest gaps so far, seconds.
        held_bytes: By all its processes.
        peak_bytes: The highest of that.
        device: Its GPU, as CUDA_VISIBLE_DEVICES names it; empty without.
        resumed: It went on where the attempt before was killed.
        runs: Run name to run id.
    """

    is_ready: bool
    elapsed_s: float
    steps: int
    share: float | None
    phase: FitPhase
    silent_s: float
    longest_gaps_s: dict[FitPhase, float]
    held_bytes: int
    peak_bytes: int
    device: str
    resumed: bool
    runs: dict[str, str]


class TrainingEvents(msgspec.Struct, frozen=True, tag="events"):
    """What a training on the node wrote into its spool, in order.

    Attributes:
        facts: Who wrote it.
        bodies: Encoded events.
    """

    facts: SessionFacts
    bodies: list[bytes]


class FilePart(msgspec.Struct, frozen=True, tag="part"):
    """A piece of a file of the fold's.

    Attributes:
        name: "value", "output", or "fold/" and the path below the fold's folder.
        data: What follows in it.
        is_first: The file begins with it.
    """

    name: str
    data: bytes
    is_first: bool


class AttemptEnded(msgspec.Struct, frozen=True, tag="ended"):
    """The attempt ended; always the last message.

    Attributes:
        attempt: How.
        death: The same for those who watch its runs.
        runs: Run name to run id.
        longest_gaps_s: Longest gaps between its steps, seconds.
        refused: Why the function is not found; empty when it is.
    """

    attempt: Attempt
    death: ProcessDeath
    runs: dict[str, str]
    longest_gaps_s: dict[FitPhase, float]
    refused: str


TaskMessage = AttemptStarted | AttemptProgress | TrainingEvents | FilePart | AttemptEnded


class StopOrder(msgspec.Struct, frozen=True):
    """The study ends an attempt, by what other folds taught.

    Attributes:
        cause: For what.
        why: In words.
    """

    cause: FoldCause
    why: str


_MESSAGE_DECODER: Final = msgspec.msgpack.Decoder(TaskMessage)
_JOB_DECODER: Final = msgspec.msgpack.Decoder(AttemptJob)
_STOP_ORDER_DECODER: Final = msgspec.json.Decoder(StopOrder)


def encode_task_message(message: TaskMessage) -> bytes:
    """A message of a task's, as it travels."""
    return msgspec.msgpack.encode(message)


def decode_task_message(data: bytes) -> TaskMessage:
    """The message again. Raises: msgspec.MsgspecError."""
    return _MESSAGE_DECODER.decode(data)


def encode_for_task(message: "AttemptJob | StopOrder") -> bytes:
    """A message of the study's, as it travels: a job as an argument, a stop order as a file."""
    if isinstance(message, StopOrder):
        return msgspec.json.encode(message)
    return msgspec.msgpack.encode(message)


def decode_job(data: bytes) -> AttemptJob:
    """A job again. Raises: msgspec.MsgspecError."""
    return _JOB_DECODER.decode(data)


def decode_stop_order(data: bytes) -> StopOrder | None:
    """A stop order again; None while it is not there in full."""
    try:
        return _STOP_ORDER_DECODER.decode(data)
    except msgspec.MsgspecError:
        return None
