"""Compares the stacks in a profile with what faulthandler and libunwind saw of the same threads while they stood still:

    compare_stacks.py PROFILE.perf FAULTHANDLER NATIVE

PROFILE.perf is `pyprof export --lines --threads --format perf`. Prints a line per thread; status 1 if one is not the same.
"""

import json
import os
import re
import sys


def truth_of_python(path):
    """{tid: [(file, line, name), ...]}, innermost first, and {tid: name of the thread}."""
    stacks, names, current = {}, {}, None
    for line in open(path):
        if line.startswith("threads "):
            idents = {int(ident, 16): value for ident, value in json.loads(line[8:]).items()}
        elif match := re.match(r"(?:Current thread|Thread) 0x([0-9a-f]+)", line):
            tid, name = idents.get(int(match[1], 16), (None, None))
            current = stacks.setdefault(tid, [])
            names[tid] = name
        elif match := re.match(r'  File "(.*)", line (\d+) in (.*)', line):
            current.append((os.path.basename(match[1]).replace(" ", "_"), int(match[2]), match[3]))
    return stacks, names


def truth_of_native(path):
    """{tid: [(file, address, name), ...]}, innermost first."""
    stacks = {}
    for line in open(path):
        first, _, rest = line.rstrip("\n").partition(" ")
        if first == "thread":
            current = stacks.setdefault(int(rest), [])
        else:
            name, _, file = rest.partition(" ")
            current.append((os.path.basename(file), int(first, 16), name))
    return stacks


def profile(path):
    """{tid: [[frame, ...], ...]}, innermost first; a frame is (file, line, name) or (file, address), the file "" where the
    profile has a source line instead. What was inlined is part of the frame below it; marks of asyncio tasks are left out."""
    stacks = {}
    for block in open(path).read().split("\n\n"):
        head, *lines = block.strip("\n").split("\n")
        match = re.match(r"\S+ +\d+/(\d+) ", head)
        if not match:
            continue
        stack = []
        for line in lines:
            address, rest = line.split(None, 1)
            name, place = re.fullmatch(r"(.*) \((.*)\)", rest).groups()
            source = re.fullmatch(r"(.*):(\d+)", place)
            if place == "inlined" or re.search(r" \(inlined\)$", name):
                continue
            if int(address, 16):
                stack.append(("" if source else os.path.basename(place), int(address, 16)))
            elif python := source:
                stack.append((os.path.basename(python[1]), int(python[2]), name.split(".")[-1]))
            elif not name.startswith("[task"):
                stack.append(("pyprof", name))
        stacks.setdefault(int(match[1]), []).append(stack)
    return stacks


def is_python(frame):
    return len(frame) == 3


def differences(stack, python, native):
    """Python frames are the same; native frames too, with one or more eval frames of libunwind's for each run of Python."""
    mine = [frame for frame in stack if is_python(frame)]
    if [f[1:] for f in mine] != [f[1:] for f in python] or any(a[0] != b[0] for a, b in zip(mine, python)):
        return f"Python frames: {mine}\nfaulthandler:  {python}"
    at = 0
    run = 0
    for frame in [*stack, None]:
        if frame and is_python(frame):
            run += 1
            continue
        consumed = 0
        # the first one may have another name: a .cold part, or that of a neighbour in a stripped file
        while consumed < run and at < len(native) and (not consumed or native[at][2].startswith("_PyEval_EvalFrameDefault")):
            at += 1
            consumed += 1
        run = 0
        if frame is None:
            break
        if at == len(native) or not same(frame, native[at]):
            return f"native frame {frame}, libunwind has {native[at] if at < len(native) else 'none'}"
        if native[at][2].startswith("_PyEval_EvalFrameDefault"):
            return f"{native[at]} without a Python frame"
        at += 1
    if at < len(native):
        return f"libunwind goes on: {native[at:]}"
    return None


def same(frame, truth):
    # callers are at their call, libunwind's at the instruction after it; a system call that a signal has interrupted is
    # about to be made again, 2 bytes before
    return truth[0].startswith(frame[0]) and truth[1] - frame[1] in (0, 1, 2)


def main():
    python, names = truth_of_python(sys.argv[2])
    native = truth_of_native(sys.argv[3])
    stacks = profile(sys.argv[1])
    bad = 0
    for tid in native:
        # the first ones are of the time before the thread stood still, or before there were unwind rows
        still = [
            stack
            for stack in stacks.get(tid, [])
            if not is_python(stack[0]) and same(stack[0], native[tid][0]) and not any(frame[0] == "pyprof" for frame in stack)
        ]
        found = [difference for stack in still if (difference := differences(stack, python[tid], native[tid]))]
        if not still or found:
            bad = 1
        print(f"{names[tid]}: {len(still)} stacks of {len(native[tid])} native and {len(python[tid])} Python frames,", len(found), "differ")
        for difference in found[:1]:
            print(difference)
    if not native:
        sys.exit("no thread")
    sys.exit(bad)


main()
