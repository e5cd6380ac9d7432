"""Reads the sums of each flush from the files of a profile, which `pyprof info --json` has for the whole of a process only: see
preload/common/log_format.h."""

import glob
import os
import struct

FILE_HEADER, BLOCK_HEADER = 16, struct.Struct("<4I")
BLOCK_PROCESS, BLOCK_ACCOUNTING, BLOCK_NOTICE = 1, 10, 11
PROCESS_INSTANCE = 2
WALL_NS, OWN_NS, HANDLER_SUM_NS = 2, 9, 17


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """{key: bytes} of a PROCESS or ACCOUNTING block."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        length, at = varint(data, at)
        found[key] = data[at : at + length]
        at += length
    return found


def blocks(path):
    with open(path, "rb") as file:
        data = file.read()
    at = FILE_HEADER
    while at + BLOCK_HEADER.size <= len(data):
        kind, length, _, _ = BLOCK_HEADER.unpack_from(data, at)
        at += BLOCK_HEADER.size
        if at + length > len(data):
            return
        yield kind, data[at : at + length]
        at += length


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
