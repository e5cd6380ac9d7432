"""What the page does in a browser, by clicking and typing. Speaks TAP: pages.py PYPROF [DIRECTORY for screenshots].

ONLY=WORD takes the tests with this word in their name.
"""

import os
import subprocess
import sys
import tempfile
import traceback

import logs
import view  # noqa: F401 (these hold the tests)
import data  # noqa: F401
import strip  # noqa: F401
import explore  # noqa: F401
import contexts  # noqa: F401
import source  # noqa: F401
import chance  # noqa: F401
from browser import Browser, find_chromium
from page import PYPROF, TESTS, Page

SHOTS = sys.argv[2] if len(sys.argv) > 2 else None


def profile_tasks(profile):
    program = os.path.join(os.path.dirname(__file__), "..", "workloads", "tasks.py")
    library = os.path.join(os.path.dirname(PYPROF), "libpyprof.so")
    subprocess.run([sys.executable, program, "0.25"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env={**os.environ, "LD_PRELOAD": library, "PYPROF_OUT": profile, "PYPROF_HZ": "500", "PYPROF_MAX_OVERHEAD": "100"})


def make_pages(directory):
    def at(name):
        return os.path.join(directory, name)

    logs.example(at("example.pyprof"))
    logs.example(at("slower.pyprof"), 2)
    logs.example(at("other.pyprof"), 1, 200)
    logs.example(at("moved.pyprof"), 1.02, moved=3)
    logs.hostile(at("hostile.pyprof"))
    logs.large(at("large.pyprof"))
    logs.Log().write(at("empty.pyprof"))
    logs.deep(at("deep.pyprof"))
    logs.uneven(at("uneven.pyprof"))
    logs.fan(at("fan.pyprof"))
    logs.even(at("even.pyprof"), [100, 5, 300, 0, 20, 3, 41])
    logs.even(at("other_even.pyprof"), [150, 9, 290, 8, 21, 30, 40])
    logs.service(at("service.pyprof"))
    logs.endpoints(at("endpoints.pyprof"))
    logs.service(at("slower_service.pyprof"), 2)
    logs.service(at("slow_service.pyprof"), 5)
    logs.shop(at("shop.pyprof"), directory)
    logs.wordy(at("wordy.pyprof"), directory)
    logs.awaits(at("awaits.pyprof"))
    profile_tasks(at("tasks.pyprof"))
    logs.traces(at("traces"))
    logs.traces(at("only"), 1)
    os.mkdir(at("many"))
    subprocess.run([os.path.join(os.path.dirname(PYPROF), "bench", "make_logs"), at("many"), "2", "7"], check=True)
    for page, arguments in {
        "example.html": ["example.pyprof"], "two.html": ["example.pyprof", "other.pyprof"], "hostile.html": ["hostile.pyprof"],
        "fan.html": ["fan.pyprof"], "none.html": ["--native=none", "example.pyprof"], "uneven.html": ["uneven.pyprof"], "part.html": ["--from=15", "--to=20", "uneven.pyprof"], "empty.html": ["empty.pyprof"], "deep.html": ["deep.pyprof"],
        "shop.html": ["shop.pyprof"], "lines.html": ["--lines", "shop.pyprof"], "wordy.html": ["wordy.pyprof"],
        "service.html": ["service.pyprof"], "endpoints.html": ["--by=endpoint", "endpoints.pyprof"], "by_task.html": ["--by=task", "service.pyprof"],
        "awaits.html": ["awaits.pyprof"], "tasks.html": ["tasks.pyprof"], "awaits_bare.html": ["--no-awaiters", "awaits.pyprof"],
        "tasks_bare.html": ["--no-awaiters", "tasks.pyprof"],
        "large.html": ["large.pyprof"], "many.html": ["many"], "traces.html": ["--by=trace", "traces"], "only.html": ["--by=span", "only"],
        "trace.html": ["--trace=4BF92F3577B34DA6A", "--thread=pool", "traces"],
    }.items():
        subprocess.run([PYPROF, "flame", "-o", at(page), *(a if a.startswith("--") else at(a) for a in arguments)], check=True,
                       stderr=subprocess.DEVNULL)
    for page, arguments in {
        "diff.html": ["example.pyprof", "slower.pyprof"], "changed.html": ["service.pyprof", "slow_service.pyprof"], "moved.html": ["example.pyprof", "moved.pyprof"],
        "even.html": ["even.pyprof", "other_even.pyprof"],
        "awaits_diff.html": ["awaits.pyprof", "awaits.pyprof"], "tasks_diff.html": ["tasks.pyprof", "tasks.pyprof"],
        "compared_by_endpoint.html": ["--by=endpoint", "service.pyprof", "slower_service.pyprof"],
    }.items():
        subprocess.run([PYPROF, "diff", "-o", at(page), *(a if a.startswith("--") else at(a) for a in arguments)], check=True,
                       stderr=subprocess.DEVNULL)


def main():
    only = os.environ.get("ONLY", "")
    if not find_chromium():
        print("1..1\nok 1 - pages in a browser # SKIP chromium is missing (package chromium)")
        return 1 if os.environ.get("CI") else 0
    failed = 0
    with tempfile.TemporaryDirectory(prefix="pyprof-pages.") as directory:
        make_pages(directory)
        browser = Browser()
        try:
            chosen = [t for t in TESTS if only in t.__name__]
            print(f"1..{len(chosen)}")
            for number, function in enumerate(chosen, 1):
                name = "page " + function.__name__.replace("_", " ")
                try:
                    function(Page(browser, directory))
                    print(f"ok {number} - {name}")
                except Exception:
                    failed += 1
                    print(f"not ok {number} - {name}")
                    print("".join("# " + line + "\n" for line in traceback.format_exc().splitlines()), end="")
                    print(f"# the browser says: {browser.complaints}")
                    if SHOTS:
                        browser.screenshot(os.path.join(SHOTS, function.__name__ + ".png"))
                sys.stdout.flush()
        finally:
            browser.close()
    return 1 if failed else 0


sys.exit(main())
