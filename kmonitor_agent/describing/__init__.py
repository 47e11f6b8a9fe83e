"""A model made in a process of its own, only to say what it is made of."""
