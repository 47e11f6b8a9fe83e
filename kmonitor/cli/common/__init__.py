"""Shared parts of commands: output, exit statuses, options, access to hubs, choice of a run."""
