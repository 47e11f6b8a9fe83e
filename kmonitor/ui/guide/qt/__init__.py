"""The guide and the keyboard shortcuts in windows of their own."""
