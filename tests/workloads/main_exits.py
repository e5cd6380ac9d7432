"""The main thread leaves by pthread_exit while another works on; the process ends with that one."""

import ctypes
import threading

from cpu import spin

spin(0.3)
threading.Thread(target=spin, args=(1.0,)).start()
ctypes.CDLL(None).pthread_exit(None)
