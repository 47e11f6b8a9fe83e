"""Shared by processes on one machine: folders, sockets, clocks, control groups."""
