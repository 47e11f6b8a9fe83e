"""Shared by agent, hub and app: messages, local files and sockets, limits, version."""
