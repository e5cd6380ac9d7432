"""The page of `pyprof flame` in a person's words, for the tests in view.py and data.py."""

import json
import os
import sys

PYPROF = os.path.realpath(sys.argv[1])
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def equal(found, wanted, what):
    if found != wanted:
        raise AssertionError(f"{what}: {found!r}, expected {wanted!r}")


def near(found, wanted, what):
    if abs(found - wanted) > 1e-6 * abs(wanted) + 1:
        raise AssertionError(f"{what}: {found!r}, expected {wanted!r}")


class Page:
    """The page in a person's words."""

    def __init__(self, browser, directory):
        self.browser, self.directory = browser, directory
        self.evaluate, self.wait, self.key, self.type = browser.evaluate, browser.wait, browser.key, browser.type

    def file(self, name):
        return os.path.join(self.directory, name)

    def open(self, name, fragment="", **options):
        self.browser.open(self.file(name), fragment, **options)
        equal(self.evaluate("document.documentElement.dataset.ready"), "yes", "the page")

    def name(self, node):
        return f"(app.shown.frame[{node}] < 0 ? 'all' : app.data.label[app.shown.frame[{node}]])"

    def top(self):
        return self.evaluate(self.name("app.top"))

    def selected(self):
        return self.evaluate(self.name("app.selected"))

    def place(self, name):
        """Where a frame is on the screen; the widest of that name."""
        found = self.evaluate(f"""(() => {{
            const layout = app.layout, box = app.graph.box.getBoundingClientRect();
            let best = -1;
            layout.node.forEach((node, i) => {{
                if (node >= 0 && {self.name('node')} === {json.dumps(name)} && (best < 0 || layout.w[i] > layout.w[best]))
                    best = i;
            }});
            if (best < 0)
                return null;
            const y = app.graph.yOf(rowOf(layout, best)) - app.graph.box.scrollTop;
            return [box.left + layout.x[best] + Math.min(layout.w[best] / 2, 20), box.top + y + 9];
        }})()""")
        if found is None:
            raise AssertionError(f"{name} is not drawn")
        return found

    def drawn(self):
        return self.evaluate(f"app.layout.node.filter((node) => node >= 0).map((node) => {self.name('node')})")

    def total(self):
        return self.evaluate("app.wholes[0]")

    def click_frame(self, name):
        self.browser.click(*self.place(name))

    def text(self, selector):
        return self.evaluate(f"document.querySelector({json.dumps(selector)}).textContent")

    def first_rows(self, count=3):
        return self.evaluate(f"[...document.querySelectorAll('#rows button')].slice(0, {count}).map((b) => b.textContent)")

    def focus(self, selector):
        self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")

    def search(self, text):
        self.browser.click_on("#search")
        self.type(text)
        self.wait(f"app.state.search === {json.dumps(text)}")

    def quiet(self):
        equal(self.browser.complaints, [], "what the browser complains of")
        outside = [url for url in self.browser.requests if not url.startswith(("file://", "blob:", "data:"))]
        equal(outside, [], "requests to elsewhere")
