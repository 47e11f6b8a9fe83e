"""Clients of hubs: on this machine, on other hosts over ssh, over the network with keys."""
