"""Greenlets of gevent that give way all the time: measured_gevent.py TRUTH_DIRECTORY SECONDS"""

import sys
import time

import gevent
import truth

end = time.process_time() + float(sys.argv[2])


def first_greenlet():
    while time.process_time() < end:
        truth.spin("first_greenlet", 400_000)
        gevent.sleep(0)


def second_greenlet():
    while time.process_time() < end:
        truth.spin("second_greenlet", 200_000)
        gevent.sleep(0)


def third_greenlet():
    while time.process_time() < end:
        truth.spin("third_greenlet", 100_000)
        gevent.sleep(0.0005)


gevent.joinall([gevent.spawn(f) for f in (first_greenlet, second_greenlet, third_greenlet)])
truth.write()
