"""Trials of kmonitor in environments made for them: other versions, nothing extra, bare Debian."""
