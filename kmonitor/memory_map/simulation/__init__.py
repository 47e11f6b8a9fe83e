"""A traced step played through: what is alive when, and what the allocator makes of it."""
