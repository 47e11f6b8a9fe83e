"""One measured value with its unit and source, or the reason why there is none."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reading:
    """A value and where it comes from; exactly one of `value` and `absent` says something.

    Attributes:
        value: In `unit`; None when it could not be read.
        unit: "bytes", "seconds", "operations", "functions" or "1".
        source: For example "process: /proc/self/statm"; empty when absent.
        absent: For example "no NVIDIA driver on this host"; empty when read.
    """

    value: float | None
    unit: str
    source: str = ""
    absent: str = ""

    @classmethod
    def missing(cls, unit: str, why: str) -> "Reading":
        """A reading that is not there, with the reason in words for the user."""
        return cls(value=None, unit=unit, absent=why)
