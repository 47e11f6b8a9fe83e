"""The hub's runs: event log, run records, commands, retention, verification."""
