"""How the hub is reached: local and network endpoints, keys, roles, quotas."""
