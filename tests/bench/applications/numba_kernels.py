"""Functions that are compiled as the program runs, then called; one in parallel."""

import sys
import time

import numba
import numpy

seconds = float(sys.argv[1])


@numba.njit
def escape(width, height, most):
    found = numpy.zeros((height, width), dtype=numpy.int32)
    for y in range(height):
        for x in range(width):
            z = c = complex(3.0 * x / width - 2.2, 2.4 * y / height - 1.2)
            n = 0
            while n < most and z.real * z.real + z.imag * z.imag < 4:
                z = z * z + c
                n += 1
            found[y, x] = n
    return found


@numba.njit(parallel=True)
def distances(points):
    found = numpy.zeros(len(points))
    for i in numba.prange(len(points)):
        for j in range(len(points)):
            found[i] += numpy.sqrt(((points[i] - points[j]) ** 2).sum())
    return found


points = numpy.random.default_rng(1).random((400, 3))
while time.process_time() < seconds:
    escape(200, 150, 200)
    distances(points)
