"""What `auto` does next: collect, then reload, then restart, as far as needed. Pure."""

from collections.abc import Mapping
from typing import Final, Literal, get_args

Level = Literal["collect", "reload", "restart"]
"""What `auto` can do, each giving back more than the one before and costing more."""

LEVELS: Final[tuple[Level, ...]] = get_args(Level)

Step = Literal["collect", "reload", "restart", "wait", "nothing"]
"""A level to do now; `wait`: the next one is in its cool-down; `nothing`: nothing more helps."""


class Escalation:
    """The levels that one crossing has led to. Owned by who calls it; no clock, no locks.

    Whoever owns it asks for a step when the measure is above its limit and the step before did
    not help. Whether it helped, only the owner can tell.
    """

    def __init__(self, cooldown_s: float) -> None:
        """Begin before the first level.

        Args:
            cooldown_s: For how long a level is not done again, seconds.
        """
        self._cooldown_s = cooldown_s
        self._place = 0
        self._ran_s: dict[Level, float] = {}
        self._tried: list[Level] = []
        self._left_out: dict[Level, str] = {}
        self._is_over = False

    @property
    def is_over(self) -> bool:
        """Whether nothing more helped: the next attempt is due when the measure grew anew."""
        return self._is_over

    def is_due(self, t_s: float) -> bool:
        """Whether a step may be asked for now: the next level is not in its cool-down.

        Args:
            t_s: Now, seconds.
        """
        if self._place >= len(LEVELS):
            return True
        level = LEVELS[self._place]
        return level == "restart" or self._has_cooled_down(level, t_s)

    def next_step(self, why_not: Mapping[Level, str], t_s: float) -> Step:
        """What to do now; a level that is returned counts as done at this time.

        Args:
            why_not: The levels that cannot be done here, with the reason.
            t_s: Now, seconds.
        """
        if self._is_over:
            self.begin_anew()
        while self._place < len(LEVELS):
            level = LEVELS[self._place]
            why = why_not.get(level, "")
            if not why and not self._has_cooled_down(level, t_s):
                if level != "restart":
                    return "wait"
                # A process that was started again and is above its limit at once would be
                # started again for ever.
                why = "it was done less than the cool-down ago and did not help"
            self._place += 1
            if why:
                self._left_out[level] = why
                continue
            self._ran_s[level] = t_s
            self._tried.append(level)
            return level
        self._is_over = True
        return "nothing"

    def begin_anew(self) -> None:
        """The measure is below its limit, or grew anew: the first level is next again."""
        self._place = 0
        self._tried, self._left_out = [], {}
        self._is_over = False

    def started_again(self, t_s: float) -> None:
        """This process was started by a restart that the same limit asked for.

        Args:
            t_s: When it began, seconds.
        """
        self._ran_s["restart"] = t_s

    def summary(self) -> str:
        """What was tried and what could not be, in words."""
        tried = [f"{' and '.join(self._tried)} did not help"] if self._tried else []
        return "; ".join(
            tried + [f"{level} not done: {why}" for level, why in self._left_out.items()]
        )

    def _has_cooled_down(self, level: Level, t_s: float) -> bool:
        ran_s = self._ran_s.get(level)
        return ran_s is None or t_s - ran_s >= self._cooldown_s
