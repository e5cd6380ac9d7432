"""What the page does with contexts of samples: logs.service."""

import collections
import re
import subprocess

from page import PYPROF, equal, test
from view import collapsed


def exported(page, *options, profile="service.pyprof"):
    """The stacks as `export` has them, without the line of accounting."""
    lines = subprocess.run([PYPROF, "export", "--format", "collapsed", *options, page.file(profile)], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("[accounting"))


@test
def tasks_are_in_the_stacks_of_every_level_of_native_code(page):
    for level in ("libraries", "none", "all"):
        page.open("service.html", f"#y=&n={level}")
        equal(collapsed(page), exported(page, "--native=" + level), level)
    page.quiet()


def same(found, wanted, what):
    equal(sorted(set(found.items()) ^ set(wanted.items()))[:6], [], what)


def of_functions(stacks):
    """CPU time of each function with what it calls."""
    totals = collections.Counter()
    for stack, ns in stacks.items():
        for frame in set(stack.split(";")):
            totals[frame] += int(ns)
    return totals


@test
def awaiters_have_the_frames_and_the_cpu_time_that_the_exports_have(page):
    for name, caller in (("awaits", r"parent \(.*;wait_for \(.*;\[task child\];compute "), ("tasks", r"gathers \(.*;\[task gathered\];")):
        for bare, options in (("", []), ("_bare", ["--no-awaiters"])):
            for level in ("libraries", "none", "all"):
                what = " ".join([name, level, *options])
                wanted = exported(page, "--native=" + level, *options, profile=name + ".pyprof")
                page.open(f"{name}{bare}.html", "#n=" + level)
                same(collapsed(page), wanted, what)
                found = page.evaluate("[...app.totals.total[0]].map((ns, i) => [app.data.text[i], ns]).filter((one) => one[1])")
                same(dict(found), of_functions(wanted), what)
                with_callers = [stack for stack in wanted if re.search(r"\[task main\];main \(.*;" + caller, stack)]
                equal(bool(with_callers), not options, "awaiters, " + what)
                equal(any("[awaited]" in stack for stack in wanted), not options, "awaiters of a thread, " + what)
        for by in ("task", "package"):
            page.open(name + ".html", f"#y={by}&n=libraries")
            same(collapsed(page), exported(page, "--by", by, profile=name + ".pyprof"), f"{name} by {by}")
    page.quiet()


@test
def a_comparison_has_the_awaiters_that_diff_has(page):
    for name in ("awaits", "tasks"):
        profile = page.file(name + ".pyprof")
        for level in ("libraries", "none", "all"):
            lines = subprocess.run([PYPROF, "diff", "--by=cpu", "--format=collapsed", "--native=" + level, profile, profile], check=True,
                                   capture_output=True, text=True).stdout.splitlines()
            wanted = dict(line.rsplit(" ", 2)[:2] for line in lines if not line.startswith("[accounting"))
            found = collections.Counter()
            page.open(name + "_diff.html", "#n=" + level)
            for stack, ns in collapsed(page).items():
                found[re.sub(r":\d+\)", ")", stack)] += int(ns)
            same({stack: str(ns) for stack, ns in found.items()}, wanted, f"{name}, {level}")
    page.quiet()


GROUPS = ["endpoint", "task", "greenlet", "span", "label:tenant", "thread", "package"]


@test
def groups_are_those_of_the_exports_and_hold_all_cpu_time(page):
    for by in GROUPS:
        for level in ("libraries", "none"):
            page.open("service.html", f"#y={by}&n={level}")
            equal(collapsed(page), exported(page, "--by", by, "--native=" + level), f"{by}, {level}")
        equal(page.total(), 3657000001, by)
    for level in ("libraries", "none", "all"):
        page.open("example.html", "#y=package&n=" + level)
        equal(collapsed(page), exported(page, "--by=package", "--native=" + level, profile="example.pyprof"), "packages, " + level)
    page.quiet()


@test
def a_page_of_traces_is_grouped_by_them(page):
    page.open("traces.html", "#n=libraries")
    equal(page.evaluate("document.getElementById('group').value"), "trace", "the group")
    equal(collapsed(page), exported(page, "--by=trace", profile="traces"), "stacks")
    equal(page.total(), 130000000, "the traces' CPU")
    page.quiet()


@test
def what_was_not_selected_is_a_group_of_its_own(page):
    for by in ("span", "thread", "package"):
        for level in ("libraries", "none"):
            page.open("only.html", f"#y={by}&n={level}")
            equal(collapsed(page), exported(page, "--by=" + by, "--native=" + level, profile="only"), f"{by}, {level}")
    page.open("only.html")
    equal(page.drawn()[1], "[not selected]", "the heaviest span")
    page.quiet()


@test
def a_select_groups_and_the_link_keeps_it(page):
    page.open("service.html")
    equal(page.evaluate("[...document.getElementById('group').options].map((one) => one.value)"), ["", *GROUPS], "groups")
    equal(page.drawn()[1:4], ["/checkout", "(none)", "/search/{query}"], "endpoints first, the heaviest before others")
    page.click_frame("/checkout")
    page.wait("app.top > 0")
    assert "1.60 s, 43.8 % of all" in page.text("#within"), page.text("#within")
    page.evaluate("""(() => { const select = document.getElementById('group'); select.value = 'task';
                  select.dispatchEvent(new Event('change')); })()""")
    equal(page.evaluate("app.top"), 0, "zoomed out")
    equal(page.drawn()[1:4], ["handle_request", "(none)", "refresh"], "the values, the heaviest first")
    assert "y=task" in page.evaluate("location.hash"), page.evaluate("location.hash")
    page.click_frame("handle_request")
    page.wait("app.top > 0")
    link = page.evaluate("location.hash")
    page.open("service.html", link)
    equal(page.top(), "handle_request", "zoomed by the link")
    page.open("service.html", "#y=nonsense")
    equal(page.evaluate("app.state.group"), "endpoint", "a group that is none")
    page.quiet()


@test
def own_code_is_the_applications_functions_and_tasks_with_all_cpu(page):
    page.open("service.html")
    whole = page.total()
    page.browser.click_on("#native-own")
    page.wait("app.state.native === 'own'")
    equal(page.total(), whole, "CPU")
    kinds = page.evaluate("[...new Set([...app.shown.frame].slice(1).map((frame) => app.data.frames.kind[frame]))].sort()")
    equal(kinds, [0, 5], "kinds: application, and what is no function")
    stacks = collapsed(page)
    assert any(";[task handle_request];" in stack for stack in stacks), stacks
    page.open("service.html", page.evaluate("location.hash"))
    equal(page.evaluate("[app.state.native, document.getElementById('native-own').ariaPressed]"), ["own", "true"], "the link")
    page.browser.click_on("#native-own")
    page.wait("app.state.native === 'libraries'")
    page.quiet()


@test
def by_on_the_command_line_is_the_page_s_first_group(page):
    page.open("by_task.html")
    equal(page.evaluate("document.getElementById('group').value"), "task", "group")
    equal(page.drawn()[1:4], ["handle_request", "(none)", "refresh"], "values")
    page.evaluate("app.reset()")
    equal(page.evaluate("app.state.group"), "task", "group after a reset")
    page.open("by_task.html", "#y=")
    equal(collapsed(page), exported(page), "stacks without a group")
    page.open("compared_by_endpoint.html")
    equal(sorted(page.drawn()[1:4]), ["(none)", "/checkout", "/search/{query}"], "values of a comparison")
    equal(page.evaluate("app.wholes"), [3657000001, 5257000001], "CPU of both")
    page.quiet()


@test
def hostile_values_are_only_text(page):
    page.open("endpoints.html")
    equal(page.evaluate("window.hacked"), None, "hacked")
    values = page.evaluate("app.tree.children(0).map((node) => app.data.label[app.tree.frame[node]])")
    assert "</script><script>window.hacked = 1</script>" in values and "(none)" in values, values
    assert "evil\\u{202e}gnp.exe" in values, values
    equal(page.total(), 1200000066, "CPU")
    page.quiet()
