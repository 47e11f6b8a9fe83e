#!/bin/sh
# First step of every make target: find a Python that fits, then let it do the rest.
# Plain POSIX sh, because on a bare machine nothing else is certain.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

fits() {
    command -v "$1" >/dev/null 2>&1 &&
        "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}

if [ -n "${PYTHON:-}" ] && ! fits "$PYTHON"; then
    echo "kmonitor: PYTHON=$PYTHON is not there, or is not Python 3.11, 3.12 or 3.13." >&2
    exit 1
fi

for candidate in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11; do
    if fits "$candidate"; then
        exec "$candidate" "$here/set_up.py" "$@"
    fi
done

cat >&2 <<TEXT
kmonitor: no Python 3.11, 3.12 or 3.13 was found (python3 is: $(python3 --version 2>&1 || true)).
Install one, or name the one to use:  make ${KMONITOR_TARGET:-setup} PYTHON=/path/to/python3
TEXT
exit 1
