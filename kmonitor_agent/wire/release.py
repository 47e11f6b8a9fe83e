"""Version of this release: of agent, hub and app, and of the package that contains them."""

from typing import Final

VERSION: Final = "0.1.0"
