"""Objects that the script keeps: where they are, how large, and what holds them."""
