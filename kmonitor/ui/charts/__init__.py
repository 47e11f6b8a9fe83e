"""Which charts there are, what they show of the selected runs, and their series."""
