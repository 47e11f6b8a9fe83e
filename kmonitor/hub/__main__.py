"""`python -m kmonitor.hub`: the hub as a process of its own."""

import sys

from kmonitor.hub.service import main

sys.exit(main(sys.argv[1:]))
