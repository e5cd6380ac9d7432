"""Uses CPU time in two threads: two_threads.py [SECONDS], 0.3 in each."""

import sys
import threading
import time


def use_cpu():
    end = time.thread_time() + (float(sys.argv[1]) if len(sys.argv) > 1 else 0.3)
    while time.thread_time() < end:
        sum(range(1000))


thread = threading.Thread(target=use_cpu)
thread.start()
use_cpu()
thread.join()
