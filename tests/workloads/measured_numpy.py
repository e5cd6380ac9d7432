"""A pool of native threads that numpy's BLAS makes: measured_numpy.py TRUTH_DIRECTORY SECONDS. Of the pool's threads only the
sum is known."""

import sys
import time

import numpy
import truth


def multiply():
    a = numpy.random.rand(500, 500)
    while time.process_time() < float(sys.argv[2]):
        a @ a


multiply()
truth.write()
