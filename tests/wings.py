#!/usr/bin/env python3
"""Checks that the wings of preload/ and the rooms of tools/ use only what is below them, and that no files use each other in a
circle: tests/wings.py BUILD. Speaks TAP.

Reads the #include lines of the sources and the symbol tables of the objects."""
import os
import re
import subprocess
import sys
import tempfile

# From bottom to top. "" is the folder itself. In preload/ that is start, settings and fork, below what the program calls:
# nothing of ours calls the functions that are in front of libc's. In tools/ it is main and the table of commands.
WINGS = {
    "preload": ["common", "arch", "base", "cpython", "frameworks", "capture", "context", "handler", "unwind", "modules", "python", "threads", "libunwind", "log",
                "account", "merge", "labels", "flush", "", "interpose"],
    "tools": ["base", "log", "model", "query", "symbols", "load", "sent", "view", "cli", "compact", "export", "flame", "push", "doctor", "ctl", "run", "report", "top", "serve", ""],
}

SHARED = ("preload/common/", "preload/arch/", "preload/cpython/")


def wing_of(path):
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else ""


def height(path):
    return WINGS[path.split("/")[0]].index(wing_of(path))


def is_above(target, path):
    """Both programs use preload/common, preload/arch and preload/cpython."""
    if target.split("/")[0] != path.split("/")[0]:
        return not target.startswith(SHARED)
    return height(target) > height(path)


def sources():
    for top in WINGS:
        for directory, _, names in sorted(os.walk(top)):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield os.path.join(directory, name)


def upward_includes():
    for path in sources():
        for name in re.findall(r'^#include "([^"]+)"', open(path).read(), re.M):
            target = os.path.normpath(os.path.join(os.path.dirname(path), name))
            if is_above(target, path):
                yield f"{path} includes {target}, which is above it"


def symbols(build):
    """{source: (names that it defines, names that it uses)}"""
    # preload/arch has folders of other processors, too
    objects = {f"{build}/obj/{path[:-2]}.o": path for path in sources() if path.endswith(".c")}
    objects = {name: path for name, path in objects.items() if "/arch/" not in path or os.path.exists(name)}
    found = {path: (set(), set()) for path in objects.values()}
    table = subprocess.run(["nm", "-A", "-P", *objects], check=True, capture_output=True, text=True).stdout
    for name, symbol, kind in (line.split()[:3] for line in table.splitlines()):
        defined, used = found[objects[name.rstrip(":")]]
        if kind in "TDBRVWC":
            defined.add(symbol)
        elif kind in "Uw":
            used.add(symbol)
    return found


def upward_uses(tables):
    for top in WINGS:
        home = {name: path for path, (defined, _) in tables.items() if path.startswith((f"{top}/", *SHARED)) for name in defined}
        for path, (_, used) in tables.items():
            for name in sorted(used):
                if path.startswith(f"{top}/") and name in home and is_above(home[name], path):
                    yield f"{path} uses {name} of {home[name]}, which is above it"


def circles(tables):
    """Files that use each other, directly or through others."""
    uses = {}
    for top in WINGS:
        home = {name: path for path, (defined, _) in tables.items() if path.startswith((f"{top}/", *SHARED)) for name in defined}
        for path, (_, used) in tables.items():
            if path.startswith(f"{top}/"):
                uses[path] = {home[name]: name for name in sorted(used) if home.get(name, path) != path}
    state, way = {}, []

    def follow(path):
        state[path] = "open"
        way.append(path)
        for target in uses.get(path, ()):
            if state.get(target) == "open":
                circle = way[way.index(target):]
                yield "a circle of files: " + ", ".join(f"{a} uses {uses[a][b]} of {b}" for a, b in zip(circle, circle[1:] + circle[:1]))
            elif target not in state:
                yield from follow(target)
        state[way.pop()] = "done"

    for path in uses:
        if path not in state:
            yield from follow(path)


def faults(build):
    unknown = sorted({os.path.dirname(path) for path in sources() if wing_of(path) not in WINGS[path.split("/")[0]]})
    if unknown:
        return [f"{wing} is not in the list of tests/wings.py" for wing in unknown]
    tables = symbols(build)
    return [*upward_includes(), *upward_uses(tables), *circles(tables)]


def self_test():
    """Whether an upward #include, an upward call and a circle of two files are found."""
    files = {"base/one.c": "int two(void);\nint one(void) { return two(); }\n",
             "base/two.c": "int one(void);\nint two(void) { return one(); }\n",
             "flush/high.h": "int high(void);\n",
             "flush/high.c": '#include "high.h"\nint high(void) { return 1; }\n',
             "base/low.c": '#include "../flush/high.h"\nint low(void) { return high(); }\n'}
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        for path, text in files.items():
            os.makedirs(os.path.dirname(f"obj/preload/{path}"), exist_ok=True)
            os.makedirs(os.path.dirname(f"preload/{path}"), exist_ok=True)
            open(f"preload/{path}", "w").write(text)
            if path.endswith(".c"):
                subprocess.run([os.environ.get("CC", "gcc"), "-c", f"preload/{path}", "-o", f"obj/preload/{path[:-2]}.o"], check=True)
        found = faults(".")
        os.chdir(here)
    return found == ["preload/base/low.c includes preload/flush/high.h, which is above it",
                     "preload/base/low.c uses high of preload/flush/high.c, which is above it",
                     "a circle of files: preload/base/one.c uses two of preload/base/two.c, preload/base/two.c uses one of preload/base/one.c"]


def main():
    found = faults(sys.argv[1])
    for fault in found:
        print(f"not ok - {fault}")
    if not found:
        print("ok - the wings of preload/ and the rooms of tools/ use only what is below them, and no files each other")
    tested = self_test()
    print(f"{'ok' if tested else 'not ok'} - self-test: finds an upward #include, an upward call and a circle")
    return bool(found) or not tested


if __name__ == "__main__":
    sys.exit(main())
