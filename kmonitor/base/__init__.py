"""Modules that every part of kmonitor uses.

Errors, installed extras and resources, wakeups, trend and thinning of series.
"""
