"""Messages between a fold's process and the study: lines of JSON over a pair of sockets.

Behind the job, the first of them, the function follows, as many bytes as the job says.
"""

import selectors
import socket
import threading
from contextlib import suppress
from typing import Final, Literal

import msgspec

from kmonitor_agent.wire.messages.study_events import TrialOutcome

MOST_TEXT: Final = 16_000
"""Characters of an exception's text that are kept."""

FitPhase = Literal["begin", "step", "between", "after"]
"""Before the first steps; within an epoch's steps; between epochs; behind a fit."""


class FoldJob(msgspec.Struct, frozen=True):
    """What a fold's process is to do.

    Attributes:
        function: Its text.
        refusal: How a refusal begins.
        size: Bytes of the carried function.
        argv: The script's arguments.
        index: Of the fold, from 0.
        attempt: From 1.
        directory: The fold's folder.
        value: File that takes the value.
        study: The study's id.
        parent: Process id of the study.
    """

    function: str
    refusal: str
    size: int
    argv: list[str]
    index: int
    attempt: int
    directory: str
    value: str
    study: str
    parent: int


class FoldReady(msgspec.Struct, frozen=True, tag="ready"):
    """The function is there; the process waits for the word."""


class FunctionNotFound(msgspec.Struct, frozen=True, tag="refused"):
    """The function could not be loaded.

    Attributes:
        why: The message, with the traceback.
    """

    why: str


class StepProgress(msgspec.Struct, frozen=True, tag="progress"):
    """How far the fold is; sent when it changed.

    Attributes:
        at_s: When it was seen, seconds of `time.monotonic`, the same in all processes of a host.
        steps: So far, over all fits.
        phase: Where in a fit it is.
        share: Of the running fit, 0..1; None: not known.
        vram_bytes: Peak of the framework's allocator on a GPU; None: none is used.
        private: A callback of it leaves names and texts out.
    """

    at_s: float
    steps: int
    phase: FitPhase
    share: float | None = None
    vram_bytes: float | None = None
    private: bool = False


class FunctionReturned(msgspec.Struct, frozen=True, tag="returned"):
    """The function came back.

    Attributes:
        how: "finished" with the value in its file, or what ended it.
        error: Type and message of the exception.
        trace: Its traceback.
        steps: See `StepProgress`.
        peak_bytes: About the most that the process held; 0: not known.
        vram_bytes: See `StepProgress`.
        private: See `StepProgress`.
        outcome: See `Attempt`; `error` says why.
    """

    how: Literal["finished", "error", "out_of_memory", "interrupted"]
    error: str = ""
    trace: str = ""
    steps: int = 0
    peak_bytes: int = 0
    vram_bytes: float | None = None
    private: bool = False
    outcome: TrialOutcome = ""


class FoldQuestion(msgspec.Struct, frozen=True, tag="question"):
    """The function asks the study, and waits for the answer.

    Attributes:
        question: Packed plain data.
    """

    question: bytes


FoldMessage = FoldReady | FunctionNotFound | StepProgress | FunctionReturned | FoldQuestion


class FoldAnswer(msgspec.Struct, frozen=True):
    """What the study answers to `FoldQuestion`.

    Attributes:
        answer: Packed plain data.
    """

    answer: bytes


_MESSAGE_DECODER: Final = msgspec.json.Decoder(FoldMessage)
_JOB_DECODER: Final = msgspec.json.Decoder(FoldJob)
_ANSWER_DECODER: Final = msgspec.json.Decoder(FoldAnswer)
_ENCODER: Final = msgspec.json.Encoder()
_GO: Final = b"go\n"
_TAKES_WITHIN_S: Final = 5.0
"""How long a fold that asked may take to read its answer, seconds."""


class FoldConnection:
    """The study's end, of one fold; receiving never waits.

    Attributes:
        is_open: The other end is there.
    """

    def __init__(self, end: socket.socket) -> None:
        """Keep the end of the pair."""
        end.settimeout(0.0)
        self._end = end
        self._partial_line = b""
        self._unsent: list[memoryview] = []
        self.is_open = True

    def fileno(self) -> int:
        """To wait for it."""
        return self._end.fileno()

    @property
    def awaited_events(self) -> int:
        """What to wait for, as `selectors` has it."""
        return selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unsent else 0)

    def receive(self) -> list[FoldMessage]:
        """Messages since the last call; other lines (the function's own) are dropped."""
        self._send()
        while True:
            try:
                part = self._end.recv(65536)
            except BlockingIOError:
                break
            except OSError:
                part = b""
            if not part:
                self.is_open = False
                break
            self._partial_line += part
        *lines, self._partial_line = self._partial_line.split(b"\n")
        messages: list[FoldMessage] = []
        for line in lines:
            try:
                messages.append(_MESSAGE_DECODER.decode(line))
            except msgspec.MsgspecError:
                continue
        return messages

    def job(self, job: FoldJob, function: bytes) -> None:
        """Send its job and the carried function to a process that was just started.

        What it does not take at once goes with the calls of `receive`: it is still importing, and
        other folds are waited for as well.
        """
        self._unsent = [memoryview(_ENCODER.encode(job) + b"\n"), memoryview(function)]
        self._send()

    def _send(self) -> None:
        while self._unsent:
            try:
                sent = self._end.send(self._unsent[0])
            except BlockingIOError:
                return
            except OSError:  # dead already, as its exit status shows
                self._unsent.clear()
                return
            self._unsent[0] = self._unsent[0][sent:]
            if not self._unsent[0]:
                del self._unsent[0]

    def go(self) -> bool:
        """Let it begin; False when it is gone."""
        try:
            self._end.send(_GO)
        except OSError:
            return False
        return True

    def answer(self, answer: FoldAnswer) -> bool:
        """Answer what was asked; False when nobody takes it."""
        self._end.settimeout(_TAKES_WITHIN_S)
        try:
            self._end.sendall(_ENCODER.encode(answer) + b"\n")
        except OSError:
            return False
        finally:
            self._end.settimeout(0.0)
        return True

    def close(self) -> None:
        self.is_open = False
        self._end.close()


class StudyConnection:
    """The fold's end; `send` from any thread."""

    def __init__(self, descriptor: int) -> None:
        """Take the socket that was inherited, and keep it from what the function starts."""
        self._end = socket.socket(fileno=descriptor)
        self._end.set_inheritable(False)
        self._reader = self._end.makefile("rb")
        self._send_lock = threading.Lock()
        self._ask_lock = threading.Lock()

    def job(self) -> FoldJob:
        """The job. Raises: msgspec.MsgspecError, OSError: the study is gone."""
        return _JOB_DECODER.decode(self._reader.readline())

    def function(self, job: FoldJob) -> bytes:
        """The carried function; read once, behind the job."""
        return self._reader.read(job.size)

    def wait(self) -> bool:
        """Wait for the word; False when the study is over."""
        return self._reader.readline() == _GO

    def send(self, message: FoldMessage) -> None:
        """Send to the study; nothing happens when it is gone."""
        with suppress(OSError), self._send_lock:
            self._end.sendall(_ENCODER.encode(message) + b"\n")

    def ask(self, question: bytes) -> bytes:
        """Ask the study and wait for its answer. Raises: ConnectionError: The study is over."""
        with self._ask_lock:
            self.send(FoldQuestion(question))
            line = self._reader.readline()
        if not line:
            raise ConnectionError("the study is over")
        return _ANSWER_DECODER.decode(line).answer
