"""One module per command; the only place that prints."""
