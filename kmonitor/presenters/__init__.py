"""What each panel shows, as plain data; no Qt."""
