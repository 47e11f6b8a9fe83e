"""Protocol KM1: the messages between agent, hub and app, and their codec."""
