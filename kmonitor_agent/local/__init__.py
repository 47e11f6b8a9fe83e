"""What agent and hub share on one machine: folders, sockets, the spool's format."""
