"""The place of every instruction, by the interpreter that runs this: line_table.py MODULE.py...

For each code object: "MINOR FIRST_LINE HEX_OF_TABLE" and then "UNIT LINE END_LINE COLUMN END_COLUMN" for each code unit;
a line with a dot ends it. Columns count from 0 and -1 stands for none, as in co_positions(); a line of 0 is none. Before
3.11 there are no columns: END_LINE is LINE. tests/oracles/line_table.c reads that.

The lines are those of co_lines() (dis.findlinestarts before 3.10). co_positions() must agree with it.
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


def positions(code):
    """(unit, line, end line, column, end column) for every code unit, None for what is not known."""
    lines = line_of_units(code)
    if not hasattr(code, "co_positions"):
        return [(unit, line, line, None, None) for unit, line in lines.items()]
    found = []
    for unit, (line, end_line, column, end_column) in enumerate(code.co_positions()):
        if line != lines[unit]:
            sys.exit(f"{code}: co_lines() says {lines[unit]} for unit {unit}, co_positions() {line}")
        found.append((unit, line, end_line, column, end_column))
    return found


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
        for unit, line, end_line, column, end_column in positions(code):
            pair = [-1 if value is None else value for value in (column, end_column)]
            print(unit, line or 0, end_line or 0, *pair)
        print(".")


for name in sys.argv[1:]:
    emit(name)
