"""What the hub tells monitoring systems: one table of figures, two ways out."""
