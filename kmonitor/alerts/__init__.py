"""Alerts: rules, their evaluation, and delivery to a command or web address."""
