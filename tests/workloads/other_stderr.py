"""Closes descriptor 2 and opens a file of its own there, as daemons do; then it burns CPU: other_stderr.py FILE SECONDS"""

import os
import sys
import time

os.close(2)
assert os.open(sys.argv[1], os.O_CREAT | os.O_RDWR | os.O_TRUNC) == 2
until = time.process_time() + float(sys.argv[2])
while time.process_time() < until:
    sum(range(1000))
