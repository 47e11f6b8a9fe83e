"""Start of the set-up: `set_up.sh` runs this file with a Python that fits."""

import sys

from kmonitor_setup.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
