"""Who may reach the hub over the network, and what they may do: keys, roles, a guarded door."""
