"""Rows of the tree of hosts and runs: groups, studies, search."""
