"""Runs one module of CPython's own tests in the interpreter that runs this, and writes what came out, test by test.

    record.py MODULE FILE [--borrow DIRECTORY] [--match REGEX] [--only FILE_OF_IDS]

Each line of FILE is a JSON list: ["start", test] or [outcome, test, text]. A test that has a start and nothing else is where
the process died. MODULE is taken from DIRECTORY when this interpreter was installed without it.
"""

import json
import os
import re
import sys
import time


def main():
    # Only what `python -m test` has of itself; the tests read all of it.
    sys.path.pop(0)
    import argparse
    import faulthandler
    import unittest
    import warnings

    parser = argparse.ArgumentParser()
    parser.add_argument("module")
    parser.add_argument("file")
    parser.add_argument("--borrow")
    parser.add_argument("--match")
    parser.add_argument("--only")
    options = parser.parse_args()
    sys.argv[1:] = []
    own_pid = os.getpid()

    def write(*line):
        # The tests fork, and list and close descriptors.
        if os.getpid() != own_pid:
            return
        fd = os.open(options.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.write(fd, (json.dumps([*line, round(time.monotonic(), 2)]) + "\n").encode())
        os.close(fd)

    # CPython 3.12 and later say that a process with threads forks, which most tests do not check.
    fork_warnings = []
    warnings.filterwarnings("always", "This process .* is multi-threaded", DeprecationWarning)
    show_warning = warnings.showwarning

    def note_warning(message, *details):
        if "is multi-threaded" in str(message):
            fork_warnings.append(message)
        show_warning(message, *details)

    warnings.showwarning = note_warning

    class Recorder(unittest.TestResult):
        def startTest(self, test):
            super().startTest(test)
            write("start", test.id())
            fork_warnings.clear()

        def addSuccess(self, test):
            super().addSuccess(test)
            write("ok, warned of fork" if fork_warnings else "ok", test.id(), "")

        def addFailure(self, test, error):
            super().addFailure(test, error)
            write("FAIL", test.id(), self.failures[-1][1])

        def addError(self, test, error):
            super().addError(test, error)
            write("ERROR", test.id(), self.errors[-1][1])

        def addSkip(self, test, reason):
            super().addSkip(test, reason)
            write("skip: " + reason, test.id(), "")

        def addExpectedFailure(self, test, error):
            super().addExpectedFailure(test, error)
            write("expected failure", test.id(), "")

        def addUnexpectedSuccess(self, test):
            super().addUnexpectedSuccess(test)
            write("unexpected success", test.id(), "")

        def addSubTest(self, test, subtest, error):
            super().addSubTest(test, subtest, error)
            if error is not None:
                # Their parameters may have addresses in them.
                write("FAIL in a subtest", test.id(), str(subtest) + "\n" + self._exc_info_to_string(error, test))

    def each(suite):
        for test in suite:
            if isinstance(test, unittest.TestSuite):
                yield from each(test)
            else:
                yield test

    # Without this it would be all: network, gigabytes.
    from test import support

    support.use_resources = ["cpu", "walltime"]
    faulthandler.enable()
    if options.borrow:
        import test

        test.__path__.append(options.borrow)
    try:
        suite = unittest.defaultTestLoader.loadTestsFromName("test." + options.module)
    except unittest.SkipTest as skip:
        write("skip: " + str(skip), options.module, "")
        return
    if options.match or options.only:
        chosen = list(each(suite))
        if options.match:
            chosen = [test for test in chosen if re.search(options.match, test.id())]
        if options.only:
            with open(options.only) as file:
                ids = set(file.read().split("\n"))
            chosen = [test for test in chosen if test.id() in ids]
        suite = unittest.TestSuite(chosen)
    suite.run(Recorder())
    write("end", options.module, "")


if __name__ == "__main__":
    main()
