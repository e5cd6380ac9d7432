"""modules.py MAPS TRUTH LOG...: the modules that logs name are what was mapped, and each address of a stack lies in one of them.

MAPS has copies of /proc/PID/maps. TRUTH has a line "PID ADDRESS PATH" for each module that was sampled for certain, with an
address of its code. Ids count anew in each log; a definition comes before its use. A function with the name of a module's file
("plug1_work" for plug1.so) has to be in it."""

import os
import re
import struct
import sys

from wire import blocks, need, records, varint, varints

STRINGS, MODULES, FRAMES, NODES, SAMPLES = 2, 3, 5, 6, 9
NATIVE = 1
PT_LOAD, PT_NOTE, PF_X, NT_GNU_BUILD_ID = 1, 4, 1, 3


def mapped_code(path):
    """(start, end, offset in the file, path) of what was executable."""
    for line in open(path, encoding="utf-8"):
        part = line.split(maxsplit=5)
        if "x" in part[1]:
            start, end = (int(word, 16) for word in part[0].split("-"))
            yield start, end, int(part[2], 16), part[5].strip() if len(part) > 5 else ""


def build_id(notes):
    at = 0
    while at + 12 <= len(notes):
        owner, length, kind = struct.unpack_from("<III", notes, at)
        at += 12
        text, at = notes[at : at + owner], at + (owner + 3 & ~3)
        if text == b"GNU\0" and kind == NT_GNU_BUILD_ID:
            return notes[at : at + length]
        at += length + 3 & ~3
    return b""


def in_file(path):
    """Start and end of the code in the file's terms, its offset, and the build-id."""
    data = open(path, "rb").read()
    (table,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    segments = [struct.unpack_from("<IIQQQQQ", data, table + i * size) for i in range(count)]
    code = [(address, address + memory, offset) for kind, flags, offset, address, _, _, memory in segments if kind == PT_LOAD and flags & PF_X]
    ids = [build_id(data[offset : offset + length]) for kind, _, offset, _, _, length, _ in segments if kind == PT_NOTE]
    return min(code)[0], max(end for _, end, _ in code), min(code)[2], next(filter(None, ids), b"")


def module(record, strings):
    fields, at = [], 0
    for _ in range(7):
        value, at = varint(record, at)
        fields.append(value)
    path, bias, start, end, offset, _flags, length = fields
    return start, end, offset, bias, record[at : at + length], strings[path]


def check(path, code):
    """Returns the addresses of stacks, and the modules that they are in."""
    strings, modules, frames, parents, addresses = {0: ""}, {}, {}, {}, set()
    for kind, payload in blocks(path):
        if kind in (STRINGS, MODULES, FRAMES, NODES):
            number, at = varint(payload, 0)
        if kind == NODES:
            fields = varints(payload[at:])
            for up in fields:
                parents[number] = number - up, next(fields)
                number += 1
        elif kind in (STRINGS, MODULES, FRAMES):
            for record in records(payload, at):
                if kind == STRINGS:
                    strings[number] = record.decode()
                elif kind == MODULES:
                    modules[number] = module(record, strings)
                else:
                    frames[number] = list(varints(record))
                number += 1
        elif kind == SAMPLES:
            at = varint(payload, varint(payload, 0)[1])[1]
            for record in records(payload, at):
                node = list(varints(record))[1]
                while node:
                    node, frame = parents[node]
                    if frames[frame][0] == NATIVE:
                        addresses.add(tuple(frames[frame][1:4]))
    for number, address, symbol in addresses:
        need(number in modules, f"{path}: {address:x} {strings[symbol]} is in no module")
        start, end, *_, name = modules[number]
        need(start <= address < end, f"{path}: {address:x} is not in {name} {start:x}-{end:x}")
        of = re.fullmatch(r"(\w+)_work", strings[symbol])
        need(not of or f"/{of[1]}.so" in name, f"{path}: {address:x} in {name} is called {strings[symbol]}")
    met = {modules[number] for number, *_ in addresses}
    for start, end, offset, bias, identity, name in met:
        if name == "[vdso]":
            continue
        need(
            any(low <= start < high and offset - file_offset == start - low and os.path.realpath(name) == file for low, high, file_offset, file in code),
            f"{path}: {name} {start:x}-{end:x} at {offset:x} was not mapped",
        )
        found = start - bias, end - bias, offset, identity
        need(found == in_file(name), f"{path}: {name} has {in_file(name)}, the log {found}")
    return addresses, met


def main():
    code, count, met = set(mapped_code(sys.argv[1])), 0, set()
    for path in sys.argv[3:]:
        addresses, modules = check(path, code)
        count += len(addresses)
        met |= {(int(os.path.basename(path).partition("-")[0]), module) for module in modules}
    for line in open(sys.argv[2], encoding="utf-8"):
        pid, address, path = line.split()
        need(
            any(of == int(pid) and start <= int(address, 16) < end and name == path for of, (start, end, *_, name) in met),
            f"no stack of process {pid} has {address} in {path}",
        )
    print(count, "addresses in", len(sys.argv) - 3, "logs, in", *sorted({name.rpartition("/")[2] for _, (*_, name) in met}))


main()
