"""Reads the sums of each flush from the files of a profile, which `pyprof info --json` has for the whole of a process only: see
preload/common/log_format.h."""

import glob
import os
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "oracles"))
from wire import blocks, fields, varint

BLOCK_PROCESS, BLOCK_ACCOUNTING, BLOCK_NOTICE = 1, 10, 11
PROCESS_INSTANCE = 2
WALL_NS, OWN_NS, HANDLER_SUM_NS = 2, 9, 17


def processes(directory):
    """Of each process: its sums as [{"wall_ns", "own_ns", "handler_ns"}], a flush each and since its start, and its notices."""
    found = {}
    for path in glob.glob(os.path.join(directory, "**", "*.pyprof"), recursive=True):
        process = {"sums": [], "notices": []}
        for kind, data in blocks(path):
            if kind == BLOCK_PROCESS:
                told = fields(data)
                if PROCESS_INSTANCE in told:  # of all files of the process
                    process = found.setdefault(told[PROCESS_INSTANCE], process)
            elif kind == BLOCK_ACCOUNTING:
                told = fields(data)
                keys = {"wall_ns": WALL_NS, "own_ns": OWN_NS, "handler_ns": HANDLER_SUM_NS}
                process["sums"].append({name: varint(told[key], 0)[0] if key in told else 0 for name, key in keys.items()})
            elif kind == BLOCK_NOTICE:
                at = varint(data, varint(data, 0)[1])[1]
                process["notices"].append(data[at:].decode(errors="replace"))
    for process in found.values():
        process["sums"].sort(key=lambda sums: sums["wall_ns"])
    return list(found.values())
