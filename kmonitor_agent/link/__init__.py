"""From the training thread's deque to the spool, to the hub and back."""
