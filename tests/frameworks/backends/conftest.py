"""Each test on another backend begins and ends with nothing known."""

from tests.support.backends import nothing_is_left

__all__ = ["nothing_is_left"]
