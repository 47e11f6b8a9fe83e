"""Event log and reclaims as tables, one record in full."""
