"""The main thread leaves by pthread_exit while another works on; the process ends with that one."""

import ctypes
import threading
import time


def spin(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        sum(range(1000))


spin(0.3)
threading.Thread(target=spin, args=(1.0,)).start()
ctypes.CDLL(None).pthread_exit(None)
