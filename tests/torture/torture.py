"""Single-steps a workload.

Loads the object (torture.c), expands the workload's macros, tells the object which code objects and lines there are, and
runs the parts of the workload, stepped, until so many instructions have been executed. Between two stepped rounds it
runs them freely many times, so that the interpreter specializes (and compiles, where it has a JIT) what it runs.

The macros, each on the line where it works (see truth.h):
    ENTER   onto the shadow stack
    LEAVE   off it
    AT      notes that the call in this line is being made
    ANYWHERE  the same, but the versions differ in which line that is
and in comments:
    HUNGRY  an expression that needs much of the frame's stack
    leaf    on the line of a function's def: it is not on the shadow stack, and may be called from any AT
    lib     functions of the library may be above this line
    via     a lambda (or comprehension) is between this line's function and the next workload function
    via <3.12   before 3.12 it is; later versions have it inlined
    gc      a garbage collection may be running
    waits   the GIL may be given up
    entry, exit as if ENTER, LEAVE stood there
"""
import argparse
import ctypes
import dis
import gc
import os
import re
import sys

ENTRY, EXIT, LIBRARY, VIA, COLLECTS, WAITS = 1, 2, 4, 8, 16, 32
FUNCTION, TRANSPARENT, LEAF = range(3)
GENERATOR = 0x20 | 0x80 | 0x200  # co_flags: generator, coroutine, async generator
DEPTH, SHADOWS = 256, 16
ANY = 4095  # line of a call: which one depends on the version
EXEC_LINES = 2000  # lines of the workload's own file; what it executes is numbered from here on

VERSION = sys.version_info[:2]
MACRO = re.compile(r"\b(ENTER|LEAVE|AT|ANYWHERE|HUNGRY)\b")
kept = []


class Expansion:
    """Source text -> text without macros; the code objects and lines go to the object."""

    def __init__(self, library):
        self.library = library
        self.ids = 0

    def codes(self, code, parent=None):
        yield code, parent
        for constant in code.co_consts:
            if hasattr(constant, "co_code"):
                yield from self.codes(constant, code)

    def expand(self, text, filename, module):
        """module: whether the outermost code object is one of the workload's, too."""
        lines = text.split("\n")
        top = compile(text, filename, "exec")
        owner = {}  # line with ENTER -> its code object
        calls = {}  # line with AT -> its code object
        parents = {}
        for code, parent in self.codes(top):
            parents[code] = parent
            for _, line in dis.findlinestarts(code):
                if line and "ENTER" in code.co_names and re.search(r"\bENTER\b", lines[line - 1]):
                    owner[line] = code
                if line and {"AT", "ANYWHERE"} & set(code.co_names) and re.search(r"\b(AT|ANYWHERE)\b", lines[line - 1]):
                    calls[line] = code
        ids = {}
        for line in sorted(owner):
            if owner[line] not in ids:
                self.ids += 1
                ids[owner[line]] = self.ids
        sites = {}  # line with AT -> id of its function, number of the call
        for line in sorted(calls):
            identity = ids[calls[line]]
            sites[line] = identity, 1 + sum(site[0] == identity for site in sites.values())
        for number, line in enumerate(lines, 1):
            flags = 0
            code_text, _, comment = line.partition("#")
            if re.search(r"\bENTER\b", code_text) or re.search(r"\bentry\b", comment):
                flags |= ENTRY
            if re.search(r"\bLEAVE\b", code_text) or re.search(r"\bexit\b", comment):
                flags |= EXIT
            if re.search(r"\blib\b", comment):
                flags |= LIBRARY
            if re.search(r"\bgc\b", comment):
                flags |= COLLECTS
            if re.search(r"\bwaits\b", comment):
                flags |= WAITS
            via = re.search(r"\bvia\b(?: <3\.(\d+))?", comment)
            if via and (not via.group(1) or VERSION < (3, int(via.group(1)))):
                flags |= VIA
            if flags:
                self.library.torture_line(number, flags)
            site = sites.get(number)
            if site:
                at = ANY if "ANYWHERE" in code_text else number
                self.library.torture_site(site[0], site[1], at)
                if at == ANY and flags & LIBRARY:
                    self.library.torture_line(ANY, LIBRARY)
            words = {
                "ENTER": "d = D[0]; S[d] = %d; D[0] = d + 1" % ids.get(owner.get(number), 0),
                "LEAVE": "D[0] = d",
                "AT": "L[d] = %d" % (site[1] if site else 0),
            }
            words["HUNGRY"] = "(%s)" % ("n, " * 300)
            words["ANYWHERE"] = words["AT"]
            lines[number - 1] = MACRO.sub(lambda match: words[match.group(1)], line)
        expanded = "\n".join(lines)
        shapes = {}
        for code, identity in ids.items():
            shapes[(code.co_name, code.co_firstlineno)] = identity
        for code, parent in self.codes(compile(expanded, filename, "exec")):
            if parent is None and not module:
                continue
            identity = shapes.get((code.co_name, code.co_firstlineno), 0)
            while parent is not None and (parent.co_name, parent.co_firstlineno) not in shapes:
                parent = next((p for c, p in self.codes(top) if c.co_name == parent.co_name
                               and c.co_firstlineno == parent.co_firstlineno), None)
            around = shapes.get((parent.co_name, parent.co_firstlineno), 0) if parent else 0
            kind = FUNCTION if identity else TRANSPARENT
            if not identity and "leaf" in lines[code.co_firstlineno - 1].partition("#")[2]:
                kind = LEAF
            elif not identity and not code.co_name.startswith("<"):
                continue  # to the test, it is the library's
            self.library.torture_code(code.co_name.encode(), getattr(code, "co_qualname", code.co_name).encode(),
                                      filename.encode(), code.co_firstlineno, kind,
                                      identity, around, code.co_flags & GENERATOR)
        return expanded


def bytes_at(library, size):
    """A bytearray and where its bytes are."""
    data = bytearray(size)
    pinned = (ctypes.c_char * size).from_buffer(data)
    kept.append(pinned)
    return data, ctypes.c_void_p(ctypes.addressof(pinned))


def make_shadows(library):
    switch, address = bytes_at(library, 2)
    library.torture_switch(address)
    shadows = []
    for i in range(SHADOWS):
        parts = [bytes_at(library, size) for size in (2, DEPTH, DEPTH)]
        library.torture_shadow(i, *[address for _, address in parts])
        shadows.append(tuple(data for data, _ in parts))
    return switch, shadows


def base_frames(library, frame):
    """What is below the workload; its innermost frame will be at the line marked "stepped"."""
    with open(__file__) as file:
        line = 1 + next(i for i, text in enumerate(file) if text.endswith("# stepped\n"))
    frames = []
    while frame:
        frames.append((frame.f_code, line if not frames else frame.f_lineno))
        frame = frame.f_back
    for code, line in reversed(frames):
        library.torture_base(code.co_name.encode(), code.co_filename.encode(), code.co_firstlineno, line)


def executed_sources(expansion):
    """The pieces of executed.py, each with line numbers of its own."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "executed.py")) as file:
        pieces = file.read().split("# ---\n")
    sources = []
    line = EXEC_LINES
    for piece in pieces:
        name = "<executed %d>" % len(sources)
        sources.append((expansion.expand("\n" * line + piece, name, True), name))
        line += piece.count("\n")
    return sources


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("object")
    parser.add_argument("--steps", type=int, default=100000, help="end after the part in which this many are reached")
    parser.add_argument("--first", type=int, default=0, help="number of the part to begin with, after part_core")
    parser.add_argument("--warm", action="store_true", help="run each part freely before it is stepped")
    parser.add_argument("--whole", action="store_true", help="end after whole rounds only")
    parser.add_argument("--part", action="append", dest="parts", help="only this one (may be repeated)")
    return parser.parse_args()


def main():
    options = arguments()
    library = ctypes.PyDLL(os.path.abspath(options.object))
    for name in "code", "line", "site", "base", "shadow", "switch", "begin", "end", "report":
        getattr(library, "torture_" + name).restype = None
    library.torture_start.restype = ctypes.c_char_p
    library.torture_steps.restype = ctypes.c_uint64
    why = library.torture_start(sys.version_info[1])
    if why:
        print("skip: %s" % why.decode())
        return 0

    switch, shadows = make_shadows(library)
    expansion = Expansion(library)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "workload.py")
    with open(path) as file:
        text = file.read()
    space = {"__name__": "workload", "W": switch, "SHADOWS": shadows}
    space["D"], space["S"], space["L"] = shadows[0]
    space["SOURCES"] = executed_sources(expansion)
    space["COMPILED"] = [compile(source, name, "exec") for source, name in space["SOURCES"]]
    exec(compile(expansion.expand(text, path, False), path, "exec"), space)
    for i in range(space["COPIES"]):
        name = b"copied_%d" % i
        line = space["copied"].__code__.co_firstlineno
        library.torture_code(name, name, path.encode(), line, FUNCTION, 200 + i, 0, 0)
        library.torture_site(200 + i, 1, line + 2)
    parts = space["PARTS"]
    first = 1 + options.first % (len(parts) - 1)
    parts = parts[:1] + parts[first:] + parts[1:first]
    if options.parts:
        parts = [part for part in parts if part.__name__ in options.parts]
    elif not options.whole:
        parts = [part for part in parts if not hasattr(part, "long")]
    begin, end = library.torture_begin, library.torture_end
    base_frames(library, sys._getframe())
    gc.disable()
    gc.freeze()  # without the interpreter's own objects a collection takes thousands of steps, not millions
    sys.setswitchinterval(1e-6)
    done = 0
    rounds = 0
    while done < options.steps:
        for part in parts:
            warm = getattr(part, "warm", 20) if options.warm or rounds else getattr(part, "before", 0)
            for _ in range(warm):
                part()
            if options.warm or rounds:
                getattr(part, "heat", int)()
            gc.collect()
            before = done
            print("#", part.__name__, file=sys.stderr, flush=True)
            threads = hasattr(part, "setup")
            getattr(part, "setup", int)()
            begin(threads); part(); end()  # stepped
            getattr(part, "teardown", int)()
            done = library.torture_steps()
            print("# %s: %d steps" % (part.__name__, done - before), file=sys.stderr)
            if done >= options.steps and not options.whole:
                break
        if done == 0:
            break
        rounds += 1
    print("# rounds: %d" % rounds)
    sys.stdout.flush()
    library.torture_report()
    return 0


if __name__ == "__main__":
    sys.exit(main())
