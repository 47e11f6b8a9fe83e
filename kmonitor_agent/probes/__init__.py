"""What is read of the process: each reading has a value, unit and source, or why it is absent."""
