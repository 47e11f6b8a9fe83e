"""Makes what is handed out: wheel, source, the app as a folder and as a Debian package."""
