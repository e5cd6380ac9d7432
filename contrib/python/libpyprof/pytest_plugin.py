# SPDX-License-Identifier: Apache-2.0
"""pytest --pyprof: starts pytest again under the profiler, and at its end prints the costliest tests and functions."""

from __future__ import annotations

import os
import sys

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, List

# What belongs to a test: frames within these. The rest is pytest's own, and imports while it collects.
OF_TESTS = r"^pytest_runtest_(setup|call|teardown) \(_pytest/"
SHOWN = 10


def pytest_addoption(parser: Any) -> None:
    parser.getgroup("pyprof").addoption(
        "--pyprof", action="store_true", help="profile the tests and print the %d costliest tests and functions" % SHOWN
    )


def _is_worker() -> bool:
    """Whether this is a worker of xdist: the child of a pytest that is profiled."""
    return "PYTEST_XDIST_WORKER" in os.environ


# The outermost wrapper: before pytest takes stdout away, and before conftest.py runs for the first time.
@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> Iterator[None]:
    if early_config.known_args_namespace.pyprof and not _is_worker():
        from . import is_active

        if not is_active():
            _start_again(early_config)
    yield


def _start_again(config: Any) -> None:
    """Replaces this process by the same command under `pyprof run`."""
    from .__main__ import program

    if "PYPROF_RUN" in os.environ:
        raise pytest.UsageError("--pyprof: this Python cannot be profiled; pyprof doctor -- python says why")
    if list(config.invocation_params.args) != sys.argv[1:]:
        raise pytest.UsageError("--pyprof: pytest was called by a program; start that by: pyprof run -- COMMAND")
    with open("/proc/self/cmdline", "rb") as file:
        command = [os.fsdecode(word) for word in file.read().split(b"\0")[1:-1]]
    path = program()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(path, [path, "run", "--", sys.executable] + command)


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    if not config.getoption("pyprof") or _is_worker():
        return
    import json
    import subprocess

    from . import _call
    from .__main__ import program

    _call("pyprof_flush")
    command = [program(), "report", "--json", "--top", str(SHOWN), "--focus", OF_TESTS]
    if "PYPROF_RUN" in os.environ:
        command += ["--run", os.environ["PYPROF_RUN"]]
    report = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    by_test = subprocess.run(command + ["--by", "test"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if not by_test.returncode:
        terminalreporter.section("pyprof: costliest tests")
        for line in _tests(json.loads(by_test.stdout.decode())):
            terminalreporter.line(line)
    terminalreporter.section("pyprof: hottest functions of the tests")
    if report.returncode:
        why = report.stderr.decode(errors="replace").strip()
        terminalreporter.line("none: no test was running when a sample was taken" if "--focus" in why else why)
        return
    for line in _table(json.loads(report.stdout.decode())):
        terminalreporter.line(line)


def _tests(report: Any) -> List[str]:
    whole = report["shown_ns"] or 1
    tests = [row for row in report["by"] if row["value"]]
    tests.sort(key=lambda row: -row["cpu_ns"])
    lines = ["%18s  %s" % ("CPU", "TEST, WITH ITS FIXTURES")]
    return lines + ["%9.2f s %5.1f %%  %s" % (row["cpu_ns"] / 1e9, 100 * row["cpu_ns"] / whole, row["value"]) for row in tests[:SHOWN]]


def _table(report: Any) -> List[str]:
    whole = report["shown_ns"] or 1
    lines = ["%18s %8s  %s" % ("SELF", "TOTAL", "PYTHON FUNCTION, C code included")]
    for function in report["python"][:SHOWN]:
        own, total = function["self_ns"], function["total_ns"]
        if not own:
            break
        share = "%.1f %%" % (100 * total / whole)
        lines.append("%9.2f s %5.1f %% %8s  %s" % (own / 1e9, 100 * own / whole, share, function["text"]))
    return lines
