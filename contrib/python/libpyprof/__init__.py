# SPDX-License-Identifier: Apache-2.0
"""libpyprof, a CPU profiler: `pyprof run -- python app.py` profiles a program."""
