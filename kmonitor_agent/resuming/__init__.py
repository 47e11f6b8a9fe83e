"""A fit's state that another process takes up: written, read, put into callbacks and model."""
