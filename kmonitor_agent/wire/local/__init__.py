"""Shared by processes on one machine: folders, sockets, the spool's format and reader."""
