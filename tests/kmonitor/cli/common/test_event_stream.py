"""A run's events as lines of `kmonitor show`."""

import pytest

from kmonitor.cli.common.event_text import epoch_end_text
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor_agent.wire.messages.events import EpochEnded


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0611, "61.1 ms"), (1.234, "1.23 s"), (42.4, "42 s"), (754.0, "13 min")],
)
def test_an_epoch_says_how_long_it_took_also_a_short_one(seconds: float, words: str):
    ended = EpochEnded(t_s=1.0, fit=1, epoch=4, steps=4, seconds=seconds)

    assert with_plain_spaces(epoch_end_text(ended)) == f"Epoch 5 of fit 1 took {words}"
