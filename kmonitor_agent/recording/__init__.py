"""The run of one process: its fits, events, requests, limits and safe points."""
