"""How sure the page's shares are, and which of them changed by more than chance."""

import json
import math
import subprocess

from page import PYPROF, equal, test


def command(page, *words):
    words = [page.file(word) if word.endswith(".pyprof") else word for word in words]
    return json.loads(subprocess.run([PYPROF, *words], check=True, capture_output=True).stdout)


@test
def the_tip_has_the_range_that_the_report_has(page):
    page.open("example.html")
    rows = {row.get("name"): row for row in command(page, "report", "--json", "example.pyprof")["python"]}
    for name in ("parse", "handle", "main"):
        page.browser.mouse("mouseMoved", *page.place(name))
        page.wait(f"document.querySelector('#tip .name')?.textContent === '{name}'")
        low, high = rows[name]["total_low"], rows[name]["total_high"]
        wanted = f"95 % range{100 * low:.1f}–{100 * high:.1f} %"
        assert wanted in page.text("#tip"), f"{wanted}: {page.text('#tip')}"
    # Of less is known less.
    whole = page.evaluate("document.querySelector('#tip dd:nth-of-type(2)').textContent")
    page.focus("#thread")
    page.type("Main")
    page.wait("app.state.thread !== ''")
    page.browser.mouse("mouseMoved", *page.place("parse"))
    page.wait("document.querySelector('#tip .name')?.textContent === 'parse' && !document.getElementById('tip').hidden")
    assert page.evaluate("document.querySelector('#tip dd:nth-of-type(2)').textContent") != whole
    page.quiet()


@test
def chances_are_those_of_the_binomial_and_the_normal_distribution(page):
    page.open("example.html")

    def chance(a, of_a, b, of_b):
        return page.evaluate(f"changeChance([{of_a}, {of_b}].map((count) => ({{count, ns: count * 1e7, spread: 1}})), [{a}, {b}], [{a}e7, {b}e7])")

    many = 1000000
    for count in range(6, 60, 9):
        for low in range(0, count // 4, 3):
            for times, share in ((1, 0.5), (3, 0.75)):
                wanted = 2 * sum(math.comb(count, i) * share ** i * (1 - share) ** (count - i) for i in range(low + 1))
                assert abs(chance(low, times * many, count - low, many) / wanted - 1) < 1e-3, (low, count, share)
    assert abs(chance(1000, 2000, 900, 2000) - math.erfc(3.166 / math.sqrt(2))) < 4e-4
    equal([chance(0, 100, 0, 100), chance(100, 100, 50, 50)], [1, 1], "nothing that could differ")


@test
def a_comparison_has_the_statistics_that_diff_has(page):
    page.open("even.html")
    found = page.evaluate("""Object.fromEntries(app.data.text.map((text, i) => [text.replace(/:\\d+\\)$/, ')'), ['self', 'total'].map((of) => {
        const counts = app.totals.samples[of].map((side) => side[i]), ns = app.totals[of].map((side) => side[i]);
        const bounds = [0, 1].map((side) => shareBounds(app.draws[side], counts[side], ns[side], app.wholes[side]));
        return {chance: changeChance(app.draws, counts, ns), bounds, marked: CHANGED[app.marks[i]] === of};
    })]))""")
    rows, compared = command(page, "diff", "--by", "share", "--json", "even.pyprof", "other_even.pyprof")["functions"], 0
    for row in rows:
        for of, one in zip(("self", "total"), found[row["text"]]):
            if not any(row[of + "_samples"]):
                continue
            compared += 1
            assert abs(one["chance"] - row[of + "_chance"]) <= 0.006 * row[of + "_chance"], (row, one)  # which has three digits
            for bounds, *wanted in zip(one["bounds"], row[of + "_low"], row[of + "_high"]):
                assert not bounds or max(abs(a - b) for a, b in zip(bounds, wanted)) < 1e-6, (row, one)
            assert of == "total" or one["marked"] == row["self_significant"], (row, one)
    equal([compared, sum(row["self_significant"] for row in rows)], [15, 2], "compared, and changed")
    page.quiet()


@test
def colours_are_of_the_function_s_own_change_if_it_is_more_than_chance(page):
    page.open("changed.html")
    fill = """(name) => looksOf(app, app.shown.frame.findIndex((frame) => frame >= 0 && app.data.label[frame] === name)).fill"""
    same, caller, total, rank = page.evaluate(f"[changeColour(app.theme, 1, 1), ...['run', 'total', 'rank'].map({fill})]")
    equal(caller, same, "a caller's colour")  # all that it calls has not changed
    assert len({same, total, rank}) == 3, (same, total, rank)
    page.browser.mouse("mouseMoved", *page.place("checkout"))
    page.wait("document.querySelector('#tip .name')?.textContent === 'checkout'")
    assert "±0.0 % self, +" in page.text("#tip"), page.text("#tip")
    page.quiet()


@test
def what_is_chance_is_grey_and_what_moved_is_the_same(page):
    page.open("moved.html")
    equal(page.evaluate("[...app.marks].reduce((sum, mark) => sum + mark, 0)"), 0, "marks")
    colours = page.evaluate("[...new Set(app.layout.node.filter((n) => n > 0).map((n) => looksOf(app, n).fill))]")
    equal(colours, [page.evaluate("changeColour(app.theme, 1, 1)")], "colours")
    equal(page.evaluate("document.querySelectorAll('#rows tr td.chance').length"), page.evaluate("document.querySelectorAll('#rows tr').length"),
          "rows of chance")
    for name, line in (("main", 13), ("handle", 23)):
        equal(page.evaluate(f"app.data.text.filter((text) => text.startsWith('{name} '))"), [f"{name} (app.py:{line})"], "moved by three lines")
    page.quiet()
