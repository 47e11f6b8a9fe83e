"""Connections to hubs: state, text, remembered hosts, audit log."""
