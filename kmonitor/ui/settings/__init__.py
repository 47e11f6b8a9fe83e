"""Settings of the window and of the hub: values, choices, file."""
