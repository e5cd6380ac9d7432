"""The source lines of a function, in the page."""

import os
import re
import subprocess

from page import PYPROF, equal, test

ROWS = """[...document.querySelectorAll('#source tbody tr')].map((row) => row.className === 'gap' ? '…' :
    [...row.children].map((cell) => cell.firstChild ? cell.firstChild.data.trimEnd() : '').join('|'))"""
CARETS = """[...document.querySelectorAll('#source .carets')].map((e) => [e.parentNode.firstChild.data, e.textContent])"""


def mark(page, name):
    page.evaluate(f"app.focusOn(app.data.label.findIndex((label, i) => label === {name!r} && app.totals.total[0][i] > 0))")


def annotated(page, profile, file):
    """Self, total and number of each line that used CPU, as annotate prints them."""
    out = subprocess.run([PYPROF, "annotate", file, page.file(profile)], check=True, capture_output=True, text=True).stdout
    return ["|".join(found) for found in re.findall(r"^ +[0-9.]+ s +([0-9.]+ %) +([0-9.]+ %) +(\d+)  ", out, re.M)]


@test
def a_function_shows_its_lines_with_what_annotate_says_of_them(page):
    page.open("shop.html")
    equal(page.evaluate("document.getElementById('source').checkVisibility()"), False, "source before a function is chosen")
    page.evaluate("document.querySelector('#rows').scrollIntoView()")
    page.browser.click_on(f"#rows tr[data-frame='{page.evaluate('app.data.label.indexOf(`sign`)')}'] td.number")
    page.wait("document.getElementById('source').checkVisibility()")
    rows = page.evaluate(ROWS)
    equal(rows, ["||4|def sign(text):", "85.3 %|85.3 %|5|    a = hashlib.sha256(text) + hashlib.md5(text)",
                 "5.0 %|5.0 %|6|    if a < 3: return \"</script><b>&amp;\"", "0.0 %|10.0 %|7|\treturn sign(a)"], "sign")
    shown = ["|".join(row.split("|")[:3]) for row in rows if row[0] != "|"]
    mark(page, "main")
    page.wait("document.querySelector('#source .head b').textContent === 'main'")
    rows = page.evaluate(ROWS)
    equal(rows, ["||10|def main():", "2.0 %|92.4 %|11|    for i in range(9): sign(b\"é\" * i)", "||12|", "||13|", "||14|",
                 "0.1 %|0.1 %|15|    print(\"a comment's distance\")"], "main")
    shown += ["|".join(row.split("|")[:3]) for row in rows if row[0] != "|"]
    equal(shown, annotated(page, "shop.pyprof", "shop.py"), "the page's figures and annotate's")
    page.quiet()


@test
def carets_mark_the_hot_expressions(page):
    page.open("shop.html")
    mark(page, "sign")
    carets = page.evaluate(CARETS)
    line = "    a = hashlib.sha256(text) + hashlib.md5(text)"
    equal(carets[:2], [[line, "        ^^^^^^^^^^^^^^^^^^^^  60.2 %"], [line, " " * 31 + "^^^^^^^^^^^^^^^^^  25.1 %"]], "expressions of a line")
    equal(carets[2][1], "       ^^^^^", "the only one of a line")
    mark(page, "main")
    equal(page.evaluate(CARETS)[0][1].split(), ["^" * 14], "below characters, not bytes")
    left = page.evaluate("""[...document.querySelectorAll('#source .carets')].map((e) => e.textContent.indexOf('^') -
        e.parentNode.firstChild.data.indexOf('sign'))""")
    equal(left, [0], "where the expression begins")
    heat = page.evaluate("[...document.querySelectorAll('#source tbody tr')].map((row) => parseFloat(row.style.getPropertyValue('--heat')))")
    assert heat[1] == max(heat) > 50 and heat[0] == 0, heat


@test
def source_follows_the_zoom_and_goes_away(page):
    page.open("shop.html")
    page.click_frame("sign")
    page.wait("document.getElementById('source').checkVisibility()")
    page.focus("#graph")
    page.key("l")
    page.wait("!document.getElementById('source').checkVisibility()")
    fragment = page.evaluate("location.hash")
    page.open("shop.html", fragment)
    equal([page.top(), page.evaluate("document.getElementById('source').checkVisibility()")], ["sign", False], "what a link shows")
    page.browser.click_on("#lines")
    page.wait("document.getElementById('source').checkVisibility()")
    page.browser.click_on("#source .head button")
    page.wait("!app.state.source")
    page.key("l")
    page.click_frame("SHA256")
    page.wait("app.data.label[app.shown.frame[app.top]] === 'SHA256'")
    equal(page.evaluate("document.getElementById('source').checkVisibility()"), False, "source of a native function")
    page.open("lines.html")
    page.evaluate("app.focusOn(app.data.text.findIndex((text) => text.startsWith('sign') && text.endsWith(':7)')))")
    equal(len(page.evaluate(ROWS)), 4, "lines of a function of a page by --lines")
    page.quiet()


@test
def a_source_that_is_not_shown_is_said(page):
    page.open("shop.html")
    for file, wanted in (("gone.py", "was not here"), ("changed.py", "was changed"), ("moved.py", "is not the one that ran")):
        page.evaluate(f"app.focusOn(app.data.text.findIndex((text) => text.includes('{file}')))")
        assert wanted in page.text("#around"), page.text("#around")
        equal(page.evaluate("document.getElementById('source').checkVisibility()"), False, file)
    page.open("wordy.html")
    left_out = page.evaluate("app.data.source.left_out")
    assert 100 < left_out < 800, left_out
    mark(page, "f0")
    equal(len(page.evaluate(ROWS)), 9, "lines of a function that is in the page")
    missing = page.evaluate("app.data.label.find((label, i) => label.startsWith('f') && !sourceLines(app.data, i).length)")
    mark(page, missing)
    assert "functions with most CPU time" in page.text("#around"), page.text("#around")
    # Of 1.8 MB of text that hardly compresses.
    size = os.path.getsize(page.file("wordy.html"))
    assert size < 900000, size
    page.quiet()
