# SPDX-License-Identifier: Apache-2.0
"""`python -m libpyprof ...` is `pyprof ...`, where the directory of pyprof is not in PATH."""

from __future__ import annotations

import os
import sys
from importlib.metadata import distribution


def program() -> str:
    """The path of the program that was installed with this package."""
    paths = [str(file.locate()) for file in distribution("libpyprof").files or () if file.name == "pyprof"]
    # `pip install --target` does not note where it is
    for path in paths + [os.path.join(os.path.dirname(__file__), "../bin/pyprof")]:
        if os.access(path, os.X_OK):
            return os.path.normpath(path)
    sys.exit("libpyprof: the program pyprof is not where it was installed: install libpyprof again")


if __name__ == "__main__":
    path = program()
    os.execv(path, [path] + sys.argv[1:])
