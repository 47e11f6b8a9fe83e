"""Epochs as columns, whatever the order in which starts and ends are read."""

import math

from kmonitor.hub.views.run_columns import EpochColumns
from kmonitor_agent.wire.messages.events import EpochEnded, EpochStarted


def test_an_epoch_that_a_later_process_began_again_leaves_the_first_one_as_it_was():
    columns = EpochColumns()
    for t_s in (1.0, 100.0):
        columns.begin(t_s, EpochStarted(t_s=0.0, fit=1, epoch=0))
    # All starts are read before the first end.
    columns.end(9.0, EpochEnded(t_s=0.0, fit=1, epoch=0, seconds=8.0))

    assert columns.ends[0] == 9.0
    assert math.isnan(columns.ends[1])

    columns.end(110.0, EpochEnded(t_s=0.0, fit=1, epoch=0, seconds=10.0))
    assert columns.ends == [9.0, 110.0]
