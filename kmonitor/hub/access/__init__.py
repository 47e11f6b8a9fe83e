"""Access to the hub: local and network endpoints, keys, roles, quotas."""
