"""The command line: one module or folder per command, imported when the command is called."""
