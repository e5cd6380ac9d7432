"""Two threads that do nothing but hand a byte to each other: switches.py SECONDS."""
import os
import sys
import threading
import time

there, back = os.pipe(), os.pipe()


def answer():
    while os.read(there[0], 1) == b"x":
        os.write(back[1], b"x")


thread = threading.Thread(target=answer)
thread.start()
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    os.write(there[1], b"x")
    os.read(back[0], 1)
os.write(there[1], b"e")
thread.join()
