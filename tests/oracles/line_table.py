"""The lines of every instruction, by the interpreter that runs this: line_table.py MODULE.py...

For each code object: "MINOR FIRST_LINE HEX_OF_TABLE" and then one line "UNIT LINE" per code unit, LINE 0 for none; a line
with a dot ends it. tests/oracles/line_table.c reads that.
"""

import dis
import sys
import types

MINOR = sys.version_info[1]


def line_of_units(code):
    """{unit: line or None} for every code unit."""
    if hasattr(code, "co_lines"):
        ranges = list(code.co_lines())
    else:
        starts = list(dis.findlinestarts(code)) + [(len(code.co_code), None)]
        ranges = [(start, end, line) for (start, line), (end, _) in zip(starts, starts[1:])]
    return {unit // 2: line for start, end, line in ranges for unit in range(start, end, 2)}


def codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def emit(path):
    with open(path, "rb") as file:
        module = compile(file.read(), path, "exec")
    for code in codes(module):
        table = code.co_linetable if MINOR >= 10 else code.co_lnotab
        print(MINOR, code.co_firstlineno, table.hex() or "-")
        for unit, line in line_of_units(code).items():
            print(unit, line or 0)
        print(".")


for name in sys.argv[1:]:
    emit(name)
