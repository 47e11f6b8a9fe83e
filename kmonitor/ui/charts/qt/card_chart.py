"""What a card needs of the chart in it."""

from typing import Any, Protocol


class Chart(Protocol):
    """What a card needs of its chart; `plots.live_chart.LiveChart` is one.

    The signals are typed loosely: Qt's stubs know them by another type on the class than on the
    object.
    """

    @property
    def limit_dropped(self) -> Any:
        """With the value that the limit line was let go at."""
        ...

    @property
    def crosshair_moved(self) -> Any:
        """With the place on the horizontal axis."""
        ...

    @property
    def crosshair_left(self) -> Any:
        """The pointer has left."""
        ...

    @property
    def range_zoomed(self) -> Any:
        """With the horizontal range wanted."""
        ...

    @property
    def zoom_reset(self) -> Any:
        """The whole range is wanted."""
        ...
