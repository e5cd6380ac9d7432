"""Has tests/unit/unwind_oracle_preload.c go through all code of the interpreter, and, when there is an argument, of what there
is: native_bytes.py [THROWING.SO]"""
import ctypes
import hashlib
import importlib
import os
import sqlite3
import ssl
import sys

with open("/proc/self/maps") as maps:
    shared = "/libpython" in maps.read()
names = ["libpython" if shared else os.path.basename(os.path.realpath(sys.executable))]

if len(sys.argv) > 1:
    names += ["libc.so", "libm.so", "ld-linux", "libcrypto", "libssl", "libsqlite3", "libgcc_s", "libstdc++", "throwing.so",
              "_multiarray_umath", "openblas", "etree", "orjson"]
    throwing = ctypes.CDLL(sys.argv[1])
    for package in "numpy", "lxml.etree", "orjson":
        try:
            importlib.import_module(package)
        except ImportError as error:
            print("without", package, repr(error))

with open("/proc/self/maps") as maps:
    code = {line.split()[-1] for line in maps if " r-xp " in line}
every_byte = ctypes.CDLL(None).oracle_every_byte
for name in names:
    if any(name in os.path.basename(path) for path in code):
        every_byte(name.encode())
    else:
        print("no", name)
