"""The bridge from hub threads to Qt.

Host menus, the banner and the status bar, the audit window.
"""
