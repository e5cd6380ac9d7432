"""Prints "ARGUMENT VERSION BUILD" of the interpreter that runs it; BUILD is shared or static (where the interpreter's code
is), stripped, free-threaded, jit, debug: what is true of it, separated by commas."""

import platform
import struct
import sys
import sysconfig


def interpreter_file():
    with open("/proc/self/maps") as maps:
        for line in maps:
            if "/libpython3." in line:
                return line.split(None, 5)[5].rstrip("\n"), "shared"
    return "/proc/self/exe", "static"


def has_symbol_table(path):
    with open(path, "rb") as file:
        header = file.read(64)
        table, size, count = struct.unpack_from("<Q10xHH", header, 40)
        file.seek(table)
        sections = file.read(size * count)
    return any(struct.unpack_from("<I", sections, i * size + 4)[0] == 2 for i in range(count))


path, kind = interpreter_file()
words = [kind]
if not has_symbol_table(path):
    words.append("stripped")
if sysconfig.get_config_var("Py_GIL_DISABLED"):
    words.append("free-threaded")
if hasattr(sys, "_jit") and sys._jit.is_enabled():
    words.append("jit")
if hasattr(sys, "gettotalrefcount"):
    words.append("debug")
print(sys.argv[1], platform.python_version(), ",".join(words))
