"""Model files read without a framework, and models described by child processes."""
