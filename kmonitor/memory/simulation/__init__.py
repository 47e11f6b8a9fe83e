"""A traced step simulated: which tensors are alive when, and how the allocator places them."""
