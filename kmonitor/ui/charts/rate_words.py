"""A rate in words; apart from its reckoning, so that cards stand before numpy is loaded."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class RatePicture:
    """The rate in words.

    Attributes:
        text: "+10.6 MiB / epoch", "steady", or empty while too little is known.
        direction: 1 rising, -1 falling, 0 neither, or by no more than the values scatter.
        tooltip: How it was reckoned.
    """

    text: str
    direction: int
    tooltip: str


NO_RATE: Final = RatePicture("", 0, "")
