# SPDX-License-Identifier: Apache-2.0
"""`python -m libpyprof ...` is `pyprof ...`, where the directory of pyprof is not in PATH."""

from __future__ import annotations

import os
import sys
from importlib.metadata import distribution


def program() -> str:
    """The path of the program that was installed with this package."""
    for file in distribution("libpyprof").files or ():
        if file.name == "pyprof" and os.access(file.locate(), os.X_OK):
            return os.path.normpath(str(file.locate()))
    sys.exit("libpyprof: the program pyprof is not where it was installed: install libpyprof again")


if __name__ == "__main__":
    path = program()
    os.execv(path, [path] + sys.argv[1:])
