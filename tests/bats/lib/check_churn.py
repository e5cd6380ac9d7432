"""What a profile of tests/workloads/code_churn.py may show, by its numbers.

    check_churn.py stacks COLLAPSED LINES SAMPLES   both collapsed, the second with --lines; at least so many samples
    check_churn.py memory PROFILED.json PLAIN.json  what the workload printed
"""

import json
import re
import sys

LINES = 89  # as in the workload
GENERATION_PAGES = 3072  # 12 MB: what is defined again from time to time
FRAME = re.compile(r"(outer|inner|<module>)_?(\d{8})? \((?:.*/)?churn_(\d{8})\.py:(\d+)\)")
# Which lines a function may be executing, counted from where its source begins.
SPAN = {"outer": (1, 3), "inner": (4, 8), "<module>": (0, 8)}


def wrong_frame(frame, lines):
    """What is wrong with a frame of the generated code, None if nothing is; and its (kind, number)."""
    match = FRAME.fullmatch(frame)
    if not match:
        return "cannot be", None
    kind, number, file, line = match.group(1), match.group(2), int(match.group(3)), int(match.group(4))
    if kind != "<module>" and int(number) != file:
        return "has another function's file", None
    blank = file % LINES
    if kind == "<module>":  # begins at line 1, before 3.10 at its first statement
        fits = 1 <= line <= blank + SPAN[kind][1] if lines else line in (1, blank + 1)
    else:
        first, last = (blank + n for n in SPAN[kind])
        fits = first <= line <= (last if lines else first)
    if not fits:
        return "has another function's line", None
    return None, (kind, file)


def wrong_order(calls):
    """The pairs (caller, callee) that cannot be."""
    for (caller, a), (callee, b) in zip(calls, calls[1:]):
        own = caller == "outer" and callee == "inner" and a == b
        deeper = caller == "outer" and callee in ("outer", "<module>") and b == a + 1
        if not own and not deeper:
            return f"{caller} {a} calls {callee} {b}"
    return None


def check(path, lines):
    seen, wrong = 0, []
    with open(path, encoding="utf-8") as file:
        for row in file:
            stack = row.rstrip("\n").rpartition(" ")[0]
            calls = []
            for frame in stack.split(";"):
                if "churn_" not in frame or "code_churn" in frame:
                    continue
                what, call = wrong_frame(frame, lines)
                if what:
                    wrong.append(f"{frame} {what}")
                else:
                    calls.append(call)
            what = wrong_order(calls)
            if what:
                wrong.append(f"{what}: {stack}")
            seen += bool(calls)
    for text in wrong[:10]:
        print(text)
    return seen, bool(wrong)


def growth(path):
    """In pages: what the last third of the run took on average over what its second third took."""
    with open(path) as file:
        run = json.load(file)
    third = len(run["pages"]) // 3
    before, after = sum(run["pages"][third : 2 * third]) / third, sum(run["pages"][2 * third :]) / third
    print(f"{path}: {run['made'] / run['seconds']:.0f} code objects a second; resident pages on average {before:.0f},"
          f" then {after:.0f}: x {after / before:.3f}")
    return after - before


def memory(profiled, plain):
    """Flat, or no steeper than without us: the free-threaded 3.13 keeps code objects. The definitions that we hold go up and
    down by some MB."""
    return not growth(profiled) - max(growth(plain), 0) < GENERATION_PAGES


def main(command, *arguments):
    if command == "memory":
        return memory(*arguments)
    status = 0
    for path, lines in ((arguments[0], False), (arguments[1], True)):
        seen, wrong = check(path, lines)
        status |= wrong
        if seen < int(arguments[2]):
            print(f"{path}: only {seen} stacks of generated code")
            status = 1
    return status


sys.exit(main(*sys.argv[1:]))
