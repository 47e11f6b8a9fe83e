"""How a desktop and the command line reach hubs."""
