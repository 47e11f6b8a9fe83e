"""Rules for alerts, and the alerts that events raise."""
