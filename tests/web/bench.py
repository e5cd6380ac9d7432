"""How fast the page is: bench.py PYPROF. Prints; judges nothing. A tree of 100,000 nodes, medians of some tries."""

import os
import statistics
import subprocess
import sys
import tempfile
import time

import logs
from browser import Browser, find_chromium

TRIES = 7
STEPS = {
    "zoom": "app.zoom(app.top ? 0 : app.shown.children(app.shown.children(0)[0])[0])",
    "search": "app.find(app.state.search ? '' : 'method_1')",
    "filter by thread": "(app.state.thread = app.state.thread ? '' : 't1', app.filtered(true))",
    "choose an interval": "(app.state.from = app.state.from < 0 ? 3 : -1, app.state.to = 40, app.filtered(true))",
    "native code none and all": "app.showNative(app.state.native === 'all' ? 'none' : 'all')",
    "inverted on and off": "app.toggle('inverted')",
}


def main():
    if not find_chromium():
        print("no chromium here")
        return
    pyprof = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="pyprof-pages.") as directory:
        profile, page = os.path.join(directory, "large.pyprof"), os.path.join(directory, "large.html")
        logs.large(profile)
        since = time.perf_counter()
        subprocess.run([pyprof, "flame", profile, "-o", page], check=True)
        print(f"flame: {time.perf_counter() - since:.2f} s, profile {os.path.getsize(profile) / 1e6:.1f} MB, "
              f"page {os.path.getsize(page) / 1e6:.1f} MB")
        browser = Browser()
        try:
            shown = []
            for _ in range(3):
                browser.open(page)
                shown.append(browser.evaluate("performance.getEntriesByName('painted')[0].startTime"))
            nodes, cells = browser.evaluate("[app.data.nodes, app.data.cells]")
            print(f"page of {nodes} nodes and {cells} cells: shown after {statistics.median(shown):.0f} ms")
            for name, step in STEPS.items():
                # Until the next picture is made: what a person waits for.
                times = [browser.evaluate(f"""new Promise((done) => {{
                    const since = performance.now();
                    {step};
                    requestAnimationFrame(() => setTimeout(() => done(performance.now() - since), 0));
                }})""") for _ in range(TRIES)]
                print(f"{name}: {statistics.median(times):.0f} ms (most {max(times):.0f})")
        finally:
            browser.close()


main()
