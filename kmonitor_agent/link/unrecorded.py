"""The one line for the script's own log: this run is recorded nowhere.

Everything else is told through the hub or the spool. Where neither takes anything there is no
other place left, and a training that believes itself watched would not be.
"""

import logging
from pathlib import Path
from typing import Final

LOGGER: Final = "kmonitor"
"""Name of the logger; a script silences it as it does any other."""


class Unrecorded:
    """Owned by the agent's thread.

    Args:
        place: Folder that takes nothing.
        private: Leave the folder's name out.
    """

    def __init__(self, place: Path, *, private: bool) -> None:
        self._place = "its folder" if private else str(place)
        self._is_told = False

    def tell(self, why: str) -> None:
        """Say it, once in a process.

        Args:
            why: What the disk said.
        """
        if self._is_told:
            return
        self._is_told = True
        logging.getLogger(LOGGER).warning(
            "kmonitor: this run is recorded nowhere: %s takes nothing (%s) and no hub answers."
            " The training is not affected. See: kmonitor doctor",
            self._place,
            why,
        )
