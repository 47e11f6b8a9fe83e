"""Desktop notifications, and the dialog that configures alerts."""
