"""What of a training the rules were never compared with an allocator for, told and allowed for."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kmonitor.memory.effects import Backend
from kmonitor_agent.wire.messages.model_layout import ModelLayout

_RECURRENT: Final = frozenset(
    {"LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"}
)


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """One such thing.

    Attributes:
        words: For the reader, with what to do.
        margin: How much higher the transient part may be, beyond the usual.
        more_bytes: Likewise, whatever the batch.
    """

    words: str
    margin: float
    more_bytes: int = 0


_XLA: Final = Unmeasured(
    "XLA decides by itself what it fuses: the rules were compared with its plans, not with an"
    " allocator, and on a CPU it takes up to three times as much; five watched steps correct that",
    2.20,
)
_TORCH: Final = Unmeasured(
    "PyTorch's rules were not compared with an allocator; five watched steps on a GPU correct"
    " that",
    0.25,
)
_HALF: Final = Unmeasured(
    "16-bit precision was compared on a CPU alone, whose convolutions work on copies in 32 bits:"
    " five watched steps correct that",
    0.80,
    2 * 32 * 2**20,  # each of two workers gathers patches as large as the last cache
)
_LOOPS: Final = Unmeasured(
    "recurrent layers keep as many steps at once as the framework is ahead with: theirs were not"
    " compared with an allocator",
    0.25,
)


def unmeasured(layout: ModelLayout, backend: Backend) -> tuple[Unmeasured, ...]:
    """What of this training was not measured.

    Args:
        layout: Of the model, in the precision that it is trained in.
        backend: That computes.
    """
    return tuple(_found(layout, backend))


def _found(layout: ModelLayout, backend: Backend) -> Iterator[Unmeasured]:
    if backend != "tensorflow":
        yield _XLA if backend == "xla" else _TORCH
    if any(each.dtype in ("float16", "bfloat16") for each in layout.tensors):
        yield _HALF
    if any(each.kind in _RECURRENT for each in layout.layers):
        yield _LOOPS
