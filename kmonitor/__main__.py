"""`python -m kmonitor`: the same as the command `kmonitor`."""

from kmonitor.cli.entry import main

if __name__ == "__main__":
    raise SystemExit(main())
