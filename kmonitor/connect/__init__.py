"""How a desktop or a terminal reaches hubs."""
