"""The version of this release: of agent, hub and app, and of the package built of them."""

from typing import Final

VERSION: Final = "0.1.0"
