"""What the page does on a profile of which all is known: logs.example."""

import json
import os
import subprocess
import xml.etree.ElementTree as xml

from page import PYPROF, equal, near, test


def collapsed(page):
    """The stacks that the page draws, as `export --format collapsed` has them."""
    return dict(page.evaluate("""[...app.tree.frame.keys()].filter((n) => n && app.tree.self[0][n] > 0).map((n) => [
        pathTo(app.tree, n).map((i) => app.data.text[app.tree.frame[i]]).join(";"), String(app.tree.self[0][n])])"""))


def info(path):
    return json.loads(subprocess.run([PYPROF, "info", "--json", path], check=True, capture_output=True).stdout)["total"]


@test
def loads_and_adds_up_to_what_info_says(page):
    page.open("example.html")
    total = info(page.file("example.pyprof"))
    wanted = total["sampled_ns"] + total["unsampled_ns"] + total["lost_ns"] + total["thread_exit_ns"]
    equal(page.total(), wanted, "CPU of the page")
    equal(page.evaluate("app.totals.self[0].reduce((sum, ns) => sum + ns, 0)"), wanted, "CPU of the table")
    equal(page.evaluate("app.shown.samples[0][0]"), total["samples"], "samples")
    equal(page.first_rows(2), ["scan_once", "deflate"], "the hottest functions")
    assert "sampled 5.76 s" in page.text("#accounting"), page.text("#accounting")
    assert "[unsampled]" in page.drawn()
    page.quiet()


@test
def zooms_by_click_and_back_by_the_breadcrumb_and_history(page):
    page.open("example.html", "#n=all")
    page.click_frame("handle")
    page.wait("app.top > 0")
    equal(page.top(), "handle", "zoomed")
    equal(sorted(set(page.drawn())), ["handle", "parse", "scan_once"], "drawn")
    equal(page.evaluate("[...document.querySelectorAll('#crumbs button')].map((b) => b.textContent)"),
          ["all", "_start65.2 %", "main65.2 %", "handle60.7 %"], "breadcrumb")
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
    assert page.text("#status").startswith("0 functions contain the text, which is no regular expression"), page.text("#status")
    page.key("Escape")
    page.wait("app.matches === null")
    page.search("PARSE (")  # no regular expression, but part of a name
    equal(page.first_rows(), ["parse"], "table of what contains the text")


@test
def turns_stacks_inside_out(page):
    page.open("example.html", "#n=all")
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
def root_at_the_bottom_and_three_levels_of_native_code(page):
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
    for level, native in (("none", set()), ("all", {"scan_once", "deflate", "_start", "start_thread"}),
                          ("libraries", {"scan_once", "deflate"})):
        page.browser.click_on("#native-" + level)
        page.wait(f"app.state.native === '{level}'")
        equal(page.total(), before, f"CPU with native code: {level}")
        equal({"scan_once", "deflate", "_start", "start_thread"} & set(page.drawn()), native, f"native code: {level}")
        equal(page.evaluate("[...document.querySelectorAll('#native [aria-pressed=true]')].map((b) => b.textContent)"), [level],
              "the switch")
        wanted = subprocess.run([PYPROF, "export", "--format", "collapsed", "--native", level, page.file("example.pyprof")],
                                check=True, capture_output=True, text=True).stdout
        equal(collapsed(page), dict(line.rsplit(" ", 1) for line in wanted.splitlines() if not line.startswith("[accounting")),
              f"stacks: {level}")
    page.browser.click_on("#native-none")
    equal(page.first_rows(2), ["parse", "compress"], "native code counts in its callers")
    page.focus("#graph")
    page.key("n")
    page.wait("app.state.native === 'libraries' && location.hash === '#v=b'", "the address of the default")


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
    page.open("example.html", "#n=all")
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
    page.open("example.html", "#n=all")
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
    page.wait("app.state.native === 'none' && !app.state.inverted")
    page.key("?")
    page.wait("document.getElementById('help').open")
    page.key("Escape")
    page.wait("!document.getElementById('help').open")
    theme = page.evaluate("document.documentElement.dataset.theme")
    page.key("d")
    page.wait(f"document.documentElement.dataset.theme !== {json.dumps(theme)}")
    page.key("d")


@test
def every_control_is_reached_and_used_by_keys(page):
    page.open("two.html")
    whole = page.total()
    reached = []
    for _ in range(200):
        page.key("Tab")
        at = page.evaluate("document.activeElement.id || document.activeElement.closest('[id]')?.id")
        if at == "search" and "search" in reached:
            break
        reached.append(at)
    controls = page.evaluate("[...document.querySelectorAll('button[id], input, select')].filter((e) => e.checkVisibility()).map((e) => e.id)")
    assert len(controls) > 12, controls
    equal([id for id in controls + ["graph", "columns", "rows"] if id not in reached], [], "what Tab does not reach")

    def go_to(id):
        for _ in range(200):
            if page.evaluate("document.activeElement.id") == id:
                return
            page.key("Tab")
        raise AssertionError(f"Tab does not lead to {id}")

    go_to("process")
    page.key("ArrowDown")
    page.wait("app.state.process >= 0")
    one = page.total()
    near(one, whole / 2, "CPU of one process")
    go_to("thread")
    page.type("worker-1")
    page.wait("app.state.thread !== ''")
    assert page.total() < one, page.total()
    go_to("reset")
    page.key("Enter")
    page.wait("app.state.thread === '' && app.state.process < 0")
    go_to("from")
    page.type("5")
    page.key("Enter")
    page.wait("app.state.from === 5")
    assert 0 < page.total() < whole, page.total()
    go_to("whole")
    page.key("Enter")
    page.wait("app.state.from < 0")
    go_to("inverted")
    page.key("Enter")
    page.wait("app.state.inverted")
    page.browser.downloads_to(page.directory)
    go_to("save")
    page.key("Enter")
    path = page.file("pyprof.svg")
    page.browser.until(lambda: os.path.exists(path) and open(path, encoding="utf-8").read().endswith("</svg>\n"), path)
    os.unlink(path)
    # Rows of the table: Enter marks the function in the graph.
    go_to("search")
    for _ in range(200):
        if page.evaluate("document.activeElement.closest('#rows') !== null"):
            break
        page.key("Tab")
    page.key("Enter")
    page.wait("app.state.focus >= 0")
    page.quiet()


@test
def links_show_the_same_again(page):
    page.open("example.html")
    page.browser.click_on("#native-all")
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
