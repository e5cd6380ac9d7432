"""What the page does with contexts of samples: logs.service."""

import subprocess

from page import PYPROF, equal, test
from view import collapsed


def exported(page, *options):
    """The stacks as `export` has them, without the line of accounting."""
    lines = subprocess.run([PYPROF, "export", "--format", "collapsed", *options, page.file("service.pyprof")], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("[accounting"))


@test
def tasks_are_in_the_stacks_of_every_level_of_native_code(page):
    for level in ("libraries", "none", "all"):
        page.open("service.html", "#n=" + level)
        equal(collapsed(page), exported(page, "--native=" + level), level)
    page.quiet()
