"""What the page does with profiles that are hostile, large, deep or empty, with two of them, and on other screens."""

import json
import os
import subprocess
import xml.etree.ElementTree as xml

import logs
from page import PYPROF, equal, near, test


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
    page.open("empty.html", "#n=all")
    assert "Nothing was sampled" in page.text("#status"), page.text("#status")
    assert "own 2.0 ms" in page.text("#accounting")
    page.search("x")
    for selector in ("#inverted", "#native-none", "#flame", "#reset"):
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
def a_root_below_is_in_view_from_the_start(page):
    for width in (1280, 500):
        page.open("deep.html", "#v=b&c=module", width=width)
        page.browser.frames()
        equal(page.evaluate("app.graph.box.scrollTop + app.graph.box.clientHeight >= app.graph.box.scrollHeight - 1"), True, "root")
        assert page.evaluate("app.graph.box.scrollTop") > 10000
    page.browser.size(500, 500)
    page.wait("app.graph.box.scrollTop + app.graph.box.clientHeight >= app.graph.box.scrollHeight - 1", "the root in view again")


@test
def heavy_modules_have_colours_of_their_own(page):
    page.open("large.html", "#c=module")
    colours = page.evaluate("""sharesBy(app, (i) => app.data.module[i]).slice(0, 10)
        .map(([module]) => app.colours[app.data.module.indexOf(module)])""")
    equal(len(set(colours)), 10, f"colours of ten modules: {colours}")


@test
def compares_two_profiles(page):
    page.open("diff.html")
    rows = page.evaluate("[...document.querySelectorAll('#rows tr')].slice(0, 2).map((r) => r.textContent)")
    assert rows[0].startswith("+") and "scan_once" in rows[0], rows
    assert rows[1].startswith("−") and "deflate" in rows[1], rows
    shares = page.evaluate("sharesOf(app, app.tree.children(app.tree.children(0)[0])[0])")
    assert shares[1] > shares[0], shares
    base, new = page.evaluate("app.tree.total.map((side) => seconds(side[0]))")
    equal(page.evaluate("labelsOf(app, 0)[0]"), f"all {new}, base {base}", "the first row")
    page.browser.mouse("mouseMoved", *page.place("parse"))
    page.wait("!document.getElementById('tip').hidden")
    assert "change here+" in page.text("#tip") and "base" in page.text("#tip"), page.text("#tip")
    labels = page.evaluate("[app.layout.node.filter((n) => n > 0).map((n) => labelsOf(app, n)[0])][0]")
    assert any(label.startswith("+") for label in labels) and any(label.startswith("−") for label in labels), labels
    equal(page.evaluate("document.getElementById('time').hidden"), True, "no time in common")
    page.focus("#width")
    page.key("ArrowDown")
    page.wait("app.state.width === 0")
    assert "render" in page.drawn()
    page.quiet()


@test
def compares_cpu_per_second(page):
    page.open("diff.html")
    equal(page.evaluate("app.state.by"), "cpu", "compared at first")
    page.focus("#by")
    page.key("ArrowDown")
    page.wait("app.state.by === 'time' && location.hash.includes('b=time')")
    node = "app.tree.children(app.tree.children(0)[0])[0]"
    for side in (0, 1):
        wall = page.evaluate(f"app.data.sides[{side}].wall_ns")
        near(page.evaluate(f"sharesOf(app, {node})[{side}] * {wall}"), page.evaluate(f"app.tree.total[{side}][{node}]"), "CPU per second")
    whole = page.evaluate("labelsOf(app, 0)[0]")
    assert whole.startswith(page.evaluate("change(sharesOf(app, 0)[1] - sharesOf(app, 0)[0])") + "  all "), whole
    page.browser.mouse("mouseMoved", *page.place("parse"))
    page.wait("!document.getElementById('tip').hidden")
    assert "of a core" in page.text("#tip"), page.text("#tip")
    page.search("parse")
    assert "of a core" in page.text("#status"), page.text("#status")
    shares = page.evaluate(f"sharesOf(app, {node})")
    fragment = page.evaluate("location.hash")
    page.open("diff.html", fragment)
    equal(page.evaluate(f"sharesOf(app, {node})"), shares, "shares from a link")
    subprocess.run([PYPROF, "diff", "--by", "time", "-o", page.file("time.html"), page.file("example.pyprof"),
                    page.file("slower.pyprof")], check=True)
    page.open("time.html")
    equal(page.evaluate(f"sharesOf(app, {node})"), shares, "shares of diff --by time")
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
    page.browser.click_on("#native-none")
    page.wait("app.state.native === 'none'")
    near(page.total(), whole, "CPU without native frames")
    page.quiet()


@test
def a_large_page_chooses_a_time_or_a_thread(page):
    page.open("many.html")
    equal(page.evaluate("app.data.apart"), True, "time is kept apart")
    assert "cannot be chosen together" in page.text("#warnings"), page.text("#warnings")
    total = json.loads(subprocess.run([PYPROF, "info", "--json", page.file("many")], check=True, capture_output=True).stdout)["total"]
    whole, strip = total["sampled_ns"] + total["unsampled_ns"], "bucketSums(app).all.reduce((sum, ns) => sum + ns, 0)"
    equal([page.total(), page.evaluate("app.cpu"), page.evaluate(strip)], [whole] * 3, "CPU of the page")
    left, top, width = page.evaluate("(({left, top, width}) => [left, top, width])(document.getElementById('strip').getBoundingClientRect())")
    page.browser.drag(left + width * 0.2, top + 10, left + width * 0.4, top + 10)
    page.wait("app.state.from > 0")
    first, last, wide = page.evaluate("[app.state.from, app.state.to, app.data.bucket_ns / 1e9]")
    wanted = subprocess.run([PYPROF, "export", "--format", "collapsed", "--from", str(first * wide), "--to", str(last * wide),
                             page.file("many")], check=True, capture_output=True, text=True).stdout
    equal(page.total(), sum(int(line.rpartition(" ")[2]) for line in wanted.splitlines()), "CPU of an interval")
    page.focus("#process")
    page.type("1001")
    page.wait("app.state.process >= 0")
    equal(page.evaluate("app.state.from"), -1, "a time beside a process")
    equal(page.total(), page.evaluate(strip), "CPU of the process over time")
    assert whole * 0.4 < page.total() < whole * 0.6, page.total()
    fragment = page.evaluate("location.hash")
    page.open("many.html", fragment + "&i=1-2")
    equal(page.evaluate("[app.state.process, app.state.from]"), [-1, 1], "what a link may choose")
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
            for (const [text, back] of [["faintText", "faint"], ["axis", "edge"], ["text", "root"]])
                if (contrast(theme[text], theme[back]) < 4.5)
                    low.push([name, text, contrast(theme[text], theme[back])]);
        }
        return low;
    })()""")
    equal(low, [], "contrast below 4.5")
