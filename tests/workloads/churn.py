"""COUNT threads of 1 ms each, a few at a time: churn.py COUNT"""

import sys
import threading
import time


def short():
    until = time.thread_time() + 0.001
    while time.thread_time() < until:
        sum(range(100))


left = int(sys.argv[1])
while left > 0:
    threads = [threading.Thread(target=short) for _ in range(min(left, 20))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    left -= len(threads)
