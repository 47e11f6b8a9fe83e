"""Restart: a fit continued in a new process, and the supervisor behind `kmonitor run`."""
