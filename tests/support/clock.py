"""A clock that tests move."""


class MovedClock:
    """Stands still until it is moved."""

    def __init__(self, monotonic_s: float = 1000.0, wall_s: float = 1.8e9) -> None:
        self._monotonic_s = monotonic_s
        self._wall_s = wall_s

    def monotonic_s(self) -> float:
        return self._monotonic_s

    def wall_s(self) -> float:
        return self._wall_s

    def move(self, seconds: float) -> None:
        """Let both clocks advance."""
        self._monotonic_s += seconds
        self._wall_s += seconds

    def jump_wall(self, seconds: float) -> None:
        """Let only the wall clock jump, as NTP does."""
        self._wall_s += seconds
