"""What several commands share.

Output and exit statuses, options, access to hubs, choice of a run.
"""
