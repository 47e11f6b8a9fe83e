"""State of the window's frame: header, first start, crash reports."""
