"""Works on under a seccomp filter that kills for system calls that only a profiler makes: sandboxed.py LIBRARY NUMBERS HOW"""

import ctypes
import os
import signal
import sys
import threading
import time


def before_filter():
    burn(0.3)


def behind_filter():
    burn()


def burn(seconds=0.1):
    until = time.process_time() + seconds
    while time.process_time() < until:
        sum(range(1000))


older_go_on = threading.Event()
older = threading.Thread(target=lambda: (burn(), older_go_on.wait(60), burn()))
older.start()
before_filter()
library = ctypes.CDLL(None)
# That there is no such call as strict mode with flags: so libseccomp asks.
print(library.syscall(317, 0, 1, None))
print(ctypes.CDLL(sys.argv[1]).sandbox_here(sys.argv[2].encode(), int(sys.argv[3])))
behind_filter()
thread = threading.Thread(target=burn)
thread.start()
thread.join()
older_go_on.set()
older.join()
got = []
signal.signal(signal.SIGPROF, lambda *_: got.append(1))
os.kill(os.getpid(), signal.SIGPROF)
pid = os.fork()
if pid == 0:
    burn()
    os._exit(7)
print([line for line in open("/proc/self/status") if line.startswith("SigCgt")])  # no handler is left that was not there
print(len(got), os.waitpid(pid, 0)[1] >> 8, os.system("exit 3") >> 8)
