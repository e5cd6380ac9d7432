"""How a person gets from what is seen to what is wanted: narrow frames, the table, names to copy."""

from page import equal, near, test

HIDDEN = "app.layout.hidden.reduce((sum, n) => sum + n, 0)"


def box(page):
    return page.evaluate("(({left, top, width, height}) => [left, top, width, height])(app.graph.box.getBoundingClientRect())")


@test
def a_group_of_narrow_frames_is_reached_by_clicks(page):
    page.open("fan.html")
    assert page.evaluate(HIDDEN) > 3000, page.evaluate(HIDDEN)
    assert "too narrow" in page.text("#legend"), page.text("#legend")
    for _ in range(5):
        place = page.evaluate("""(() => {
            const rect = app.layout.node.indexOf(-1), box = app.graph.box.getBoundingClientRect();
            return [box.left + app.layout.x[rect] + app.layout.w[rect] - 1, box.top + app.graph.yOf(rowOf(app.layout, rect)) + 9];
        })()""")
        page.browser.mouse("mouseMoved", *place)
        page.wait("document.getElementById('tip').textContent.includes('click to see them')")
        before = page.evaluate(HIDDEN)
        page.browser.click(*place)
        page.wait(f"({HIDDEN}) < {before}", "fewer narrow frames")
        if page.evaluate(HIDDEN) == 0:
            break
    # The last of 4,000 that are all alike.
    assert "callee_3999" in page.drawn(), page.drawn()[-5:]
    assert "a part" in page.text("#crumbs"), page.text("#crumbs")
    assert "too narrow" not in page.text("#legend"), page.text("#legend")
    fragment, drawn = page.evaluate("location.hash"), page.drawn()
    page.open("fan.html", fragment)
    equal(page.drawn(), drawn, "what a link shows")
    page.focus("#graph")
    page.key("Escape")
    page.wait("app.state.part === null")
    page.evaluate("history.back()")
    page.wait("app.state.part !== null", "back to the part")
    page.quiet()


@test
def the_wheel_zooms_sideways_and_moves(page):
    page.open("fan.html")
    left, top, width, height = box(page)

    def wheel(x, y=0, control=False):
        page.browser.call("Input.dispatchMouseEvent", type="mouseWheel", x=left + 0.9 * width, y=top + 30, deltaX=x, deltaY=y,
                          modifiers=2 if control else 0)

    for _ in range(7):
        wheel(0, -300, control=True)
    page.wait(f"({HIDDEN}) === 0 && app.state.part[1] - app.state.part[0] < 0.01", "all that is seen is drawn")
    drawn = page.drawn()
    wheel(width)
    page.browser.until(lambda: page.drawn() != drawn, "another part")
    page.focus("#graph")
    for _ in range(40):
        page.key("-")
    page.wait("app.state.part === null")
    page.key("+")
    page.wait("app.state.part[1] - app.state.part[0] === 0.5")


@test
def what_is_searched_for_is_brought_into_view(page):
    page.open("fan.html")
    page.search("callee_2345$|callee_2345 ")
    page.key("Enter")
    page.wait("app.state.part !== null")
    equal(page.selected(), "callee_2345", "the match")
    assert "callee_2345" in page.drawn()
    page.open("deep.html")
    page.search("recurse_700 ")
    page.key("Escape")
    page.browser.click_on("#columns th:nth-child(3) button")
    page.search("recurse_700 ")
    page.browser.click_on("#rows tr td.number")  # the row is enough
    page.wait("app.state.focus >= 0")
    y, scroll, height = page.evaluate("""(() => {
        const rect = app.layout.node.findIndex((n) => app.shown.frame[n] === app.state.focus);
        return [app.graph.yOf(rowOf(app.layout, rect)), app.graph.box.scrollTop, app.graph.box.clientHeight];
    })()""")
    assert scroll <= y <= scroll + height - 20, f"{y} is not between {scroll} and {scroll + height}"


@test
def table_and_breadcrumb_follow_the_zoom(page):
    page.open("example.html")
    page.click_frame("work")
    page.wait("app.top > 0")
    equal(page.first_rows(5), ["deflate", "work", "compress"], "functions within work")
    assert "Within work: 2.00 s, 34.7 % of all" in page.text("#within"), page.text("#within")
    first = page.evaluate("(({textContent, firstChild}) => [textContent, firstChild.title])(document.querySelector('#rows tr'))")
    assert first[0].startswith("100.0 %") and first[1] == "34.7 % of all", first
    equal(page.text("#crumbs button:nth-of-type(2)"), "work34.7 %", "the share in the breadcrumb")
    page.browser.mouse("mouseMoved", *page.place("deflate"))
    page.wait("!document.getElementById('tip').hidden")
    tip = page.text("#tip")
    for part in ("2.00 s, 34.7 %", "of what is zoomed100.0 %", "of its caller100.0 %"):
        assert part in tip, f"{part} is missing: {tip}"
    page.focus("#graph")
    page.key("Escape")
    page.wait("app.top === 0")
    equal([page.evaluate("document.getElementById('tip').hidden"), page.text("#within")], [True, ""], "nothing of the old view stays")
    page.browser.click_on("#inverted")
    page.wait("app.state.inverted")
    page.click_frame("scan_once")
    page.wait("app.top > 0")
    equal(sorted(page.first_rows(9)), ["handle", "main", "parse", "scan_once"], "who calls scan_once")
    near(page.evaluate("app.tableTotals().total[0].reduce((a, b) => Math.max(a, b))"), 3000000045, "their CPU")


@test
def callers_and_callees_of_a_function(page):
    page.open("example.html")
    page.search("handle ")
    page.browser.click_on("#rows tr td.number")
    page.wait("!document.getElementById('around').hidden")
    lists = page.evaluate("""[...document.querySelectorAll('#around section')].map((s) => [s.firstChild.textContent,
        [...s.querySelectorAll('li')].map((li) => [...li.children].map((e) => e.textContent).join(' '))])""")
    equal(lists, [["Called by", ["100.0 % main 3.50 s"]], ["Calls", ["85.7 % parse 3.00 s"]]], "around handle")
    assert "itself 14.3 % of that" in page.text("#around"), page.text("#around")
    page.browser.click_on("#around section:last-of-type button")
    page.wait("app.data.label[app.state.focus] === 'parse'")
    page.browser.click_on("#around .head button")
    page.wait("document.getElementById('around').hidden && app.state.focus < 0")
    page.open("deep.html")
    # Recursion counts once: all of it comes from outside, and goes to itself.
    around = page.evaluate("""(() => {
        const frames = [-1, 0, 1, 0, 1, 2], parent = [-1, 0, 1, 2, 3, 4], ns = [0, 1, 2, 4, 8, 16];
        const tree = new Tree({parent: Int32Array.from(parent), frame: Int32Array.from(frames), lists: null},
            {self: [Float64Array.from(ns)], samples: [new Float64Array(6)]});
        return [aroundOf(tree, 0, 0), aroundOf(tree, 0, 1)];
    })()""")
    equal(around, [{"whole": 31, "self": 5, "callers": [[-1, 31]], "callees": [[1, 30]]},
                   {"whole": 30, "self": 10, "callers": [[0, 30]], "callees": [[0, 28], [2, 16]]}], "recursion")
    page.quiet()


@test
def names_and_stacks_are_copied(page):
    page.browser.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    page.open("example.html")
    page.browser.mouse("mouseMoved", *page.place("scan_once"))
    page.wait("app.hovered > 0")
    for key, wanted in (("c", "scan_once (_json.so)"),
                        ("C", "main (app.py:10)\nhandle (app.py:20)\nparse (json/decoder.py:343)\nscan_once (_json.so)")):
        page.evaluate("app.say('')")
        page.key(key)
        page.wait("document.getElementById('status').textContent.startsWith('Copied')")
        equal(page.evaluate("navigator.clipboard.readText()"), wanted, key)
    page.browser.mouse("mouseMoved", 5, 5)
    page.browser.click_on("#rows tr:nth-child(2) td.number")
    page.wait("app.state.focus >= 0")
    page.key("c")
    page.browser.until(lambda: page.evaluate("navigator.clipboard.readText()") == "deflate (libfoo.so.1)", "the marked function")
    page.quiet()


@test
def native_code_is_shown_as_the_command_line_says(page):
    page.open("none.html")
    equal(page.evaluate("app.state.native"), "none", "at first")
    assert "deflate" not in page.drawn(), page.drawn()
    page.browser.click_on("#native-all")
    page.wait("app.state.native === 'all'")
    assert {"deflate", "_start"} <= set(page.drawn()), page.drawn()
    page.open("diff.html")
    equal(page.evaluate("[app.state.native, app.data.label.includes('_start')]"), ["libraries", True], "in a comparison")


@test
def the_legend_names_every_colour_that_is_seen(page):
    page.open("example.html")
    legend = page.text("#legend")
    for kind in ("application", "installed packages 0.0 %", "standard library 0.0 %", "libraries", "not a function"):
        assert kind in legend, f"{kind} is missing: {legend}"


@test
def the_title_is_what_was_typed(page):
    page.open("fan.html")
    equal([page.text("#title"), page.evaluate("document.title"), page.evaluate("document.getElementById('title').title")],
          ["python3.12 app.py", "python3.12 app.py – pyprof", "/opt/python/bin/python3.12 app.py"], "titles")
    page.open("trace.html")
    equal(page.text("#title"), "python shop.py (only --thread pool --trace 4bf92f3577b34da6a3ce929d0e0e4736)", "of a part")
    assert "4bf92f35" in page.evaluate("document.title"), page.evaluate("document.title")
