"""From the training thread's queue to the spool and the hub, and commands back."""
