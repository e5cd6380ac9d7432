"""What the page does in a browser, by clicking and typing. Speaks TAP: pages.py PYPROF [DIRECTORY for screenshots]."""

import json
import os
import subprocess
import sys
import tempfile
import traceback
import xml.etree.ElementTree as xml

import logs
from browser import Browser, find_chromium

PYPROF = os.path.realpath(sys.argv[1])
SHOTS = sys.argv[2] if len(sys.argv) > 2 else None
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


def info(path):
    return json.loads(subprocess.run([PYPROF, "info", "--json", path], check=True, capture_output=True).stdout)["total"]


@test
def loads_and_adds_up_to_what_info_says(page):
    page.open("example.html")
    total = info(page.file("example.pyprof"))
    wanted = total["sampled_ns"] + total["unsampled_ns"] + total["lost_ns"] + total["thread_exit_ns"]
    equal(page.total(), wanted, "CPU of the page")
    equal(page.evaluate("app.totals.self[0].reduce((sum, ns) => sum + ns, 0)"), wanted, "CPU of the table")
    equal(page.evaluate("app.shown.samples[0]"), total["samples"], "samples")
    equal(page.first_rows(2), ["scan_once", "deflate"], "the hottest functions")
    assert "sampled 5.76 s" in page.text("#accounting"), page.text("#accounting")
    assert "[unsampled]" in page.drawn()
    page.quiet()


@test
def zooms_by_click_and_back_by_the_breadcrumb_and_history(page):
    page.open("example.html")
    page.click_frame("handle")
    page.wait("app.top > 0")
    equal(page.top(), "handle", "zoomed")
    equal(sorted(set(page.drawn())), ["handle", "parse", "scan_once"], "drawn")
    equal(page.evaluate("[...document.querySelectorAll('#crumbs button')].map((b) => b.textContent)"),
          ["all", "_start", "main", "handle"], "breadcrumb")
    page.click_frame("parse")
    page.wait("location.hash.split('.').length === 4")
    page.evaluate("history.back()")
    page.wait(f"{page.name('app.top')} === 'handle'")
    page.browser.click_on("#crumbs button:nth-of-type(1)")
    page.wait("app.top === 0")
    page.click_frame("handle")
    page.wait("app.top > 0")
    page.click_frame("handle")  # on what is zoomed: out by one
    equal(page.top(), "main", "zoomed out by one")


@test
def finds_by_regular_expression_and_says_the_share(page):
    page.open("example.html")
    page.search("^(parse|comp.*) ")
    share = page.evaluate("app.found.sums[0] / app.wholes[0]")
    near(share, (3000000045 + 2000000000) / page.total(), "matched share")
    assert f"2 functions match: {100 * share:.1f} %" in page.text("#status"), page.text("#status")
    equal(page.first_rows(), ["parse", "compress"], "table of what matches")
    page.key("Enter")
    page.wait("app.selected > 0")
    equal(page.selected(), "parse", "first match")
    page.key("Enter")
    equal(page.selected(), "compress", "next match")
    page.key("Enter", shift=True)
    equal(page.selected(), "parse", "back")
    page.type("(")
    page.wait("document.getElementById('search').getAttribute('aria-invalid') === 'true'")
    page.key("Escape")
    page.wait("app.matches === null")
    page.search("PARSE (")  # no regular expression, but part of a name
    equal(page.first_rows(), ["parse"], "table of what contains the text")


@test
def turns_stacks_inside_out(page):
    page.open("example.html")
    page.browser.click_on("#inverted")
    page.wait("app.state.inverted")
    near(page.evaluate("app.shown.total[0][0]"), page.evaluate("app.tree.total[0][0]"), "CPU of the inverted tree")
    names = page.evaluate(f"app.shown.children(0).map((n) => {page.name('n')})")
    equal(names[:2], ["scan_once", "deflate"], "next to the root")
    page.click_frame("deflate")
    page.wait("app.top > 0")
    equal(page.drawn(), ["deflate", "compress", "work", "start_thread"], "callers")
    equal(page.evaluate("app.shown.total[0][app.top]"), 2000000000, "CPU in deflate")


@test
def root_below_and_native_off(page):
    page.open("example.html")
    below = page.place("all")[1]
    page.browser.click_on("#flame")
    page.wait("app.state.flame")
    page.browser.frames()
    assert page.place("all")[1] > below + 100, "the root has not moved down"
    page.click_frame("main")
    page.wait("app.top > 0")
    equal(page.top(), "main", "clicked with the root below")
    before = page.total()
    page.browser.click_on("#native")
    page.wait("!app.state.native")
    equal(page.total(), before, "CPU without native frames")
    assert not {"scan_once", "deflate", "_start"} & set(page.drawn()), page.drawn()
    equal(page.first_rows(2), ["parse", "compress"], "native code counts in its callers")


@test
def filters_by_thread_and_gil(page):
    page.open("example.html")
    page.focus("#thread")
    page.type("worker-1")
    page.wait("app.state.thread !== ''")
    equal(page.total(), 1000000000, "CPU of one worker")
    assert "Shown: thread worker-1" in page.text("#status"), page.text("#status")
    page.browser.click_on("#reset")
    page.wait("app.state.thread === ''")
    page.focus("#gil")
    page.key("ArrowDown")
    page.key("ArrowDown")
    page.wait("app.state.gil === 2")
    equal(page.total(), 2000000000, "CPU without the GIL")


@test
def merges_processes_and_filters_by_one(page):
    page.open("two.html")
    one = info(page.file("example.pyprof"))
    near(page.total(), 2 * (one["cpu_ns"] - one["own_ns"]), "CPU of two processes")
    page.focus("#process")
    page.type("200")
    page.wait("app.state.process >= 0")
    near(page.total(), one["cpu_ns"] - one["own_ns"], "CPU of one process")


@test
def chooses_an_interval_with_the_brush(page):
    page.open("example.html")
    equal(page.evaluate("app.data.buckets"), 10, "buckets")
    left, top, width, height = page.evaluate(
        "(({left, top, width, height}) => [left, top, width, height])(document.getElementById('strip').getBoundingClientRect())")
    page.browser.drag(left + 2, top + 10, left + width * 0.15, top + 10)
    page.wait("app.state.to === 2")
    page.wait("location.hash.includes('i=0-2')")
    near(page.total(), 2 * (300000000 + 50000000 + 200000000 + 90000000) + 1, "CPU of the first two seconds")
    assert "warm_cache" in page.drawn()
    page.focus("#from")
    page.evaluate("document.activeElement.select()")
    page.type("5")
    page.focus("#to")
    page.evaluate("document.activeElement.select()")
    page.type("6")
    page.key("Enter")
    page.wait("app.state.from === 5 && app.state.to === 6")
    assert "render" in page.drawn() and "warm_cache" not in page.drawn(), page.drawn()
    page.browser.click_on("#whole")
    page.wait("app.state.from === -1")
    assert "warm_cache" in page.drawn()


@test
def table_sorts_and_highlights(page):
    page.open("example.html")
    page.browser.click_on("#columns th:nth-child(2) button")
    page.wait("app.state.sort === 'total'")
    equal(page.first_rows(2), ["_start", "main"], "by total time")
    page.browser.click_on("#columns th:nth-child(3) button")
    page.wait("app.state.sort === 'name'")
    equal(page.first_rows(1), ["[gc]"], "by name")
    page.evaluate("[...document.querySelectorAll('#rows button')].find((b) => b.textContent === 'compress').id = 'wanted'")
    page.browser.click_on("#wanted")
    page.wait("app.state.focus >= 0")
    assert "compress (zippy/core.py:7)" in page.text("#status"), page.text("#status")
    equal(page.evaluate("document.querySelectorAll('#rows tr.chosen').length"), 1, "chosen rows")


@test
def tip_tells_of_the_frame_under_the_mouse(page):
    page.open("example.html")
    page.browser.mouse("mouseMoved", *page.place("parse"))
    page.wait("!document.getElementById('tip').hidden")
    tip = page.text("#tip")
    for part in ("parse", "/opt/lib/python3.12/json/decoder.py:343", "standard library", "3.00 s", "self", "samples300"):
        assert part in tip, f"{part} is missing: {tip}"


@test
def saves_what_is_shown_as_svg(page):
    page.open("example.html")
    page.browser.downloads_to(page.directory)
    page.click_frame("main")
    page.wait("app.top > 0")
    page.browser.click_on("#save")
    path = page.file("pyprof.svg")
    page.browser.until(lambda: os.path.exists(path) and open(path, encoding="utf-8").read().endswith("</svg>\n"), path)
    texts = [t.text for t in xml.parse(path).getroot().iter("{http://www.w3.org/2000/svg}title")]
    os.unlink(path)
    assert any(t.startswith("parse (json/decoder.py:343)\n") and "3.00 s" in t for t in texts), texts
    assert not any("compress" in t for t in texts), texts
    page.quiet()


@test
def keyboard_alone_is_enough(page):
    page.open("example.html")
    for _ in range(40):
        page.key("Tab")
        if page.evaluate("document.activeElement.id") == "graph":
            break
    equal(page.evaluate("document.activeElement.id"), "graph", "where Tab leads")
    for key, wanted in (("ArrowDown", "_start"), ("ArrowDown", "main"), ("ArrowDown", "handle"), ("ArrowRight", "warm_cache"),
                        ("ArrowLeft", "handle"), ("ArrowUp", "main"), ("Home", "all")):
        page.key(key)
        equal(page.selected(), wanted, f"after {key}")
    active = "document.getElementById(document.getElementById('graph').getAttribute('aria-activedescendant'))"
    page.key("ArrowDown")
    page.key("ArrowDown")
    page.key("ArrowDown")
    said = page.evaluate(active + ".textContent")
    assert said.startswith("handle (app.py:20), total ") and "self " in said and "1 callee" in said, said
    equal(page.evaluate(active + ".getAttribute('aria-level')"), "4", "level")
    page.key("Enter")
    equal(page.top(), "handle", "zoomed by Enter")
    page.key("Backspace")
    equal(page.top(), "main", "zoomed out by Backspace")
    page.key("Escape")
    equal(page.top(), "all", "zoomed out by Escape")
    page.key("/")
    equal(page.evaluate("document.activeElement.id"), "search", "/")
    page.type("deflate")
    page.wait("app.matches !== null")
    page.key("Enter")
    equal(page.selected(), "deflate", "found")
    page.key("Escape")
    equal(page.evaluate("[document.activeElement.id, app.matches]"), ["graph", None], "search ended")
    page.key("i")
    page.wait("app.state.inverted")
    page.key("i")
    page.key("n")
    page.wait("!app.state.native && !app.state.inverted")
    page.key("?")
    page.wait("document.getElementById('help').open")
    page.key("Escape")
    page.wait("!document.getElementById('help').open")
    theme = page.evaluate("document.documentElement.dataset.theme")
    page.key("d")
    page.wait(f"document.documentElement.dataset.theme !== {json.dumps(theme)}")
    page.key("d")


@test
def links_show_the_same_again(page):
    page.open("example.html")
    page.browser.click_on("#native")
    page.click_frame("main")
    page.wait("app.top > 0")
    page.search("parse")
    page.focus("#thread")
    page.type("Main")
    page.wait("app.state.thread !== ''")
    state, fragment = page.evaluate("[app.state, location.hash]")
    page.open("example.html", fragment)
    equal(page.evaluate("app.state"), state, "state from a link")
    equal(page.top(), "main", "zoomed from a link")
    equal(page.evaluate("document.getElementById('search').value"), "parse", "search from a link")
    page.open("example.html", "#z=1.9999999.2&q=(&f=99999&p=7&t=%3Cb%3E&g=9&i=8-3&v=zz&o=evil&w=5")
    page.quiet()


@test
def hostile_names_are_only_text(page):
    page.open("hostile.html")
    page.browser.downloads_to(page.directory)
    equal(page.evaluate("window.hacked"), None, "hacked")
    equal(page.evaluate("document.querySelectorAll('b b, i b, #rows img, h1 b, script:not([src])').length"), 1, "elements of names")
    assert "\\u{202e}" in page.text("#title"), page.text("#title")
    labels = page.evaluate("app.data.label")
    for name in logs.HOSTILE[:5]:
        assert name in labels, f"{name} is missing"
    assert "evil\\u{202e}gnp.exe" in labels and "zero\\u{200b}width\\u{2066}" in labels
    for name in logs.HOSTILE[:9]:
        shown = name if name.isascii() else None
        if shown:
            page.browser.mouse("mouseMoved", *page.place(shown))
            page.wait("!document.getElementById('tip').hidden")
            assert shown[:300] in page.text("#tip"), shown[:300]
    equal(page.evaluate("document.documentElement.scrollWidth <= innerWidth"), True, "page fits its window")
    page.search("</script>")
    page.browser.click_on("#save")
    path = page.file("pyprof.svg")
    page.browser.until(lambda: os.path.exists(path) and open(path, encoding="utf-8").read().endswith("</svg>\n"), path)
    titles = [t.text for t in xml.parse(path).getroot().iter("{http://www.w3.org/2000/svg}title")]
    os.unlink(path)
    assert any(logs.HOSTILE[0] in t for t in titles), titles
    equal(page.evaluate("window.hacked"), None, "hacked")
    page.quiet()
    # Were a name ever to become HTML, the page's policy would still not let it run.
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hacked = 5\"><b onclick=\"window.hacked = 6\" "
                  "id=evil>x</b>'), document.getElementById('evil').click()")
    page.browser.until(lambda: page.evaluate("1") and any("Content Security Policy" in c for c in page.browser.complaints),
                       "a complaint of the policy")
    equal(page.evaluate("window.hacked"), None, "hacked")


@test
def nothing_sampled_is_said(page):
    page.open("empty.html")
    assert "Nothing was sampled" in page.text("#status"), page.text("#status")
    assert "own 2.0 ms" in page.text("#accounting")
    page.search("x")
    for selector in ("#inverted", "#native", "#flame", "#reset"):
        page.browser.click_on(selector)
    page.quiet()


@test
def deep_stacks_scroll(page):
    page.open("deep.html")
    equal(page.evaluate("app.layout.rows"), 802, "rows")
    page.focus("#graph")
    for _ in range(60):
        page.key("ArrowDown")
    name, top, height = page.selected(), page.evaluate("app.graph.box.scrollTop"), page.evaluate("app.graph.box.clientHeight")
    equal(name, "recurse_59", "60 frames down")
    assert 61 * 20 - height <= top <= 60 * 20, f"scrolled to {top}, {height} high"
    page.key("Enter")
    equal(page.evaluate("[app.layout.rows, app.graph.box.scrollTop]"), [742, 0], "zoomed")
    equal(page.evaluate("document.querySelectorAll('#crumbs button').length"), 7, "a long way is cut short")
    page.browser.click_on("#flame")
    page.wait("app.state.flame")
    page.browser.frames()
    assert page.evaluate("app.graph.box.scrollTop + app.graph.box.clientHeight >= app.graph.box.scrollHeight - 1"), "root in view"


@test
def compares_two_profiles(page):
    page.open("diff.html")
    rows = page.evaluate("[...document.querySelectorAll('#rows tr')].slice(0, 2).map((r) => r.textContent)")
    assert rows[0].startswith("+") and "scan_once" in rows[0], rows
    assert rows[1].startswith("−") and "deflate" in rows[1], rows
    shares = page.evaluate("sharesOf(app, app.tree.children(app.tree.children(0)[0])[0])")
    assert shares[1] > shares[0], shares
    page.browser.mouse("mouseMoved", *page.place("parse"))
    page.wait("!document.getElementById('tip').hidden")
    assert "change+" in page.text("#tip") and "base" in page.text("#tip"), page.text("#tip")
    labels = page.evaluate("[app.layout.node.filter((n) => n > 0).map((n) => labelsOf(app, n)[0])][0]")
    assert any(label.startswith("+") for label in labels) and any(label.startswith("−") for label in labels), labels
    equal(page.evaluate("document.getElementById('time').hidden"), True, "no time in common")
    page.focus("#width")
    page.key("ArrowDown")
    page.wait("app.state.width === 0")
    assert "render" in page.drawn()
    page.quiet()


@test
def hundred_thousand_nodes(page):
    page.open("large.html")
    assert page.evaluate("app.data.nodes") > 100000
    whole = page.total()
    name = page.drawn()[3]
    page.click_frame(name)
    page.wait("app.top > 0")
    page.search("method_1")
    page.browser.click_on("#inverted")
    page.wait("app.state.inverted")
    equal(page.total(), whole, "CPU")
    near(page.evaluate("app.shown.children(0).reduce((sum, n) => sum + app.shown.total[0][n], 0)"), whole, "CPU next to the root")
    page.browser.click_on("#native")
    page.wait("!app.state.native")
    near(page.total(), whole, "CPU without native frames")
    page.quiet()


@test
def fits_narrow_windows_and_follows_the_system_theme(page):
    for width in (400, 1280):
        for dark in (False, True):
            page.open("example.html", width=width, dark=dark)
            equal(page.evaluate("document.documentElement.dataset.theme"), "dark" if dark else "light", "theme")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{width} pixels: scrolls sideways"
            assert page.evaluate("app.graph.box.clientHeight") >= 200, "the graph is flat"


@test
def text_stands_out_from_its_colours(page):
    page.open("example.html")
    low = page.evaluate("""(() => {
        const pen = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
        const light = (color) => {
            pen.fillStyle = color;
            pen.fillRect(0, 0, 1, 1);
            const [r, g, b] = [...pen.getImageData(0, 0, 1, 1).data].map((v) => v / 255)
                .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
        const low = [];
        for (const [name, theme] of Object.entries(THEMES)) {
            const fills = [...theme.kinds, ...theme.modules, theme.root, changeColour(theme, 1, 0), changeColour(theme, 0, 1)];
            for (const fill of fills)
                if (contrast(fill, theme.text) < 4.5)
                    low.push([name, fill, contrast(fill, theme.text)]);
            if (contrast(theme.found, theme.foundText) < 4.5)
                low.push([name, "found"]);
        }
        return low;
    })()""")
    equal(low, [], "contrast below 4.5")


def make_pages(directory):
    def at(name):
        return os.path.join(directory, name)

    logs.example(at("example.pyprof"))
    logs.example(at("slower.pyprof"), 2)
    logs.example(at("other.pyprof"), 1, 200)
    logs.hostile(at("hostile.pyprof"))
    logs.large(at("large.pyprof"))
    logs.Log().write(at("empty.pyprof"))
    logs.deep(at("deep.pyprof"))
    for page, arguments in {
        "example.html": ["example.pyprof"], "two.html": ["example.pyprof", "other.pyprof"], "hostile.html": ["hostile.pyprof"],
        "empty.html": ["empty.pyprof"], "deep.html": ["deep.pyprof"],
        "large.html": ["large.pyprof"], "diff.html": ["--diff", "example.pyprof", "slower.pyprof"],
    }.items():
        subprocess.run([PYPROF, "flame", "-o", at(page), *(a if a == "--diff" else at(a) for a in arguments)], check=True)


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
