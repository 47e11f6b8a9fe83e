"""The viewers' side of the hub: runs, rows, series, commands, edits, keys."""
