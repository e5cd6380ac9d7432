"""Closes descriptor 2 and opens a file of its own there, as daemons do; then it uses CPU: other_stderr.py FILE SECONDS"""

import os
import sys

from cpu import spin

os.close(2)
assert os.open(sys.argv[1], os.O_CREAT | os.O_RDWR | os.O_TRUNC) == 2
spin(float(sys.argv[2]))
