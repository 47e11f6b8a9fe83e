"""The process's limit on the size of its files (`ulimit -f`), checked before a write.

A write beyond it sends SIGXFSZ, which ends a process that does not ignore it. Python ignores it;
its default may be what the script has set, and the signals are the script's.
"""

import errno
import os

try:
    import resource
except ImportError:  # Windows has none
    resource = None


def check_file_limit(end_bytes: int) -> None:
    """Check that a file may have this size. Raises: OSError, as a write would."""
    if resource is None:
        return
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if limit != resource.RLIM_INFINITY and end_bytes > limit:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
