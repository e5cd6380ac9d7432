"""The main thread leaves by pthread_exit while another works on; the process ends with that one, which prints the CPU time in ns
that it has used by then."""

import ctypes
import threading
import time

from cpu import spin


def work():
    spin(1.0)
    print(time.process_time_ns(), flush=True)


spin(0.3)
threading.Thread(target=work).start()
ctypes.CDLL(None).pthread_exit(None)
