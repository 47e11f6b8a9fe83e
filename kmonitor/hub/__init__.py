"""The hub: one process per user and host that stores every event and serves desktops."""
