"""Source lines and inlined functions of a pprof export, against what binutils' addr2line says of each address.

    addr2line.py EXPORT.pb.gz LIBRARY...    every address in these libraries; names of what is inlined, files and lines.
                                            Prints how many addresses there were, and how many of them with inlined functions
"""

import gzip
import os
import subprocess
import sys

from wire import message


def locations(path):
    """{module path: {address: [(linkage name, base name of the file, line)]}}, the innermost function first."""
    with gzip.open(path) as file:
        profile = list(message(file.read()))
    strings = [value.decode() for number, value in profile if number == 6]
    functions = {one[1]: one for one in (dict(message(value)) for number, value in profile if number == 5)}
    modules = {one[1]: strings[one[5]] for one in (dict(message(value)) for number, value in profile if number == 3)}
    found = {}
    for location in (list(message(value)) for number, value in profile if number == 4):
        one, lines = dict(location), []
        for line in (dict(message(value)) for number, value in location if number == 4):
            function = functions[line[1]]
            file = strings[function.get(4, 0)] if 2 in line else "?"
            lines.append((strings[function.get(3, 0)], os.path.basename(file), line.get(2, 0)))
        if one.get(3):
            found.setdefault(modules.get(one.get(2)), {})[one[3]] = lines
    return found


def addr2line(library, addresses):
    """{address: as above}."""
    command = ["addr2line", "-a", "-i", "-f", "-e", library]
    text = subprocess.run(command, input="\n".join(map(hex, addresses)), capture_output=True, text=True, check=True).stdout
    found, lines = {}, text.splitlines()
    at = 0
    while at < len(lines):
        if lines[at].startswith("0x"):
            current = found.setdefault(int(lines[at], 16), [])
            at += 1
            continue
        file, _, line = lines[at + 1].partition(" (discriminator")[0].rpartition(":")
        current.append((lines[at], os.path.basename(file).strip("?") or "?", int(line) if line.isdigit() else 0))
        at += 2
    return found


def main():
    export = locations(sys.argv[1])
    wrong = inlined = count = 0
    for library in map(os.path.realpath, sys.argv[2:]):
        ours = export.get(library, {})
        theirs = addr2line(library, sorted(ours))
        for address, lines in sorted(ours.items()):
            count += 1
            inlined += len(lines) > 1
            wanted = theirs[address]
            # Of the function that is not inlined the symbol table may have another name.
            same = [line[1:] for line in lines] == [line[1:] for line in wanted]
            if same and [line[0] for line in lines[:-1]] == [line[0] for line in wanted[:-1]]:
                continue
            wrong += 1
            if wrong <= 5:
                print(f"{library} {address:#x}: {lines}, addr2line: {wanted}")
    print(f"{count} addresses, {inlined} with inlined functions, {wrong} differ")
    sys.exit(wrong > 0)


main()
