"""What people already use, each fold of it in a process: one module each, imported when asked."""
