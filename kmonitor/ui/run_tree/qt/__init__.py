"""The tree of hosts and runs at the left."""
