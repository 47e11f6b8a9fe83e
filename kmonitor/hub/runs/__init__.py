"""What the hub knows of its runs: event log, run records, commands, retention, verification."""
