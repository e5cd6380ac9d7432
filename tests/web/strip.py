"""CPU over time in the page: what is drawn, and what can be chosen of it."""

from page import equal, near, test

BUCKETS = "[...bucketSums(app).all].slice(0, app.data.buckets)"


def strip_box(page):
    return page.evaluate("(({left, top, width}) => [left, top, width])(document.getElementById('strip').getBoundingClientRect())")


def type_time(page, field, text):
    page.focus("#" + field)
    page.evaluate("document.activeElement.select()")
    page.type(text)
    page.key("Enter")


@test
def cpu_over_time_is_never_more_than_the_machine_has(page):
    page.open("uneven.html")
    sums, width, cpus = page.evaluate(f"[{BUCKETS}, app.data.bucket_ns, app.data.cpus]")
    equal(cpus, 2, "processors")
    assert max(sums) <= cpus * width, sums
    near(sum(sums), page.total(), "CPU over time")
    for bucket in range(4):
        near(sums[bucket] / width, 0.99, f"cores in bucket {bucket}")
    equal(page.evaluate("app.strip.peak"), "peak 1.98 of 2 cores", "the peak")
    page.quiet()


@test
def a_time_within_what_is_known_chooses_what_is_known(page):
    page.open("uneven.html")
    sums, width = page.evaluate(f"[{BUCKETS}, app.data.bucket_ns]")
    assert "known by 1.0 s" in page.text("#strip-note"), page.text("#strip-note")
    left, top, wide = strip_box(page)
    page.browser.drag(left + 2, top + 10, left + wide / len(sums) - 2, top + 10)
    page.wait("app.state.to === 1")
    near(page.total(), sums[0], "CPU of the first second")
    type_time(page, "from", "17.8")
    type_time(page, "to", "18.1")
    first, last = page.evaluate("[app.state.from, app.state.to]")
    assert first * width / 1e9 < 18.1 and last * width / 1e9 > 17.8, [first, last]
    near(page.total(), sum(sums[first:last]), "CPU of what was typed")
    shown = page.evaluate("[Number(document.getElementById('from').value), Number(document.getElementById('to').value)]")
    equal(shown, [round(end * width / 1e9, 2) for end in (first, last)], "the ends that are shown")
    page.quiet()


@test
def the_strip_of_a_part_has_the_times_of_the_run(page):
    page.open("part.html")
    equal(page.evaluate("app.data.since_ns"), 15 * 10**9, "start of the strip")
    equal(page.evaluate("document.getElementById('from').value"), "15", "from")
    equal(page.evaluate("document.getElementById('to').value"), "20", "to")
    page.quiet()
