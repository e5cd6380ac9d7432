"""Uses CPU in libc, in the loader's own code and in extensions; blocks are small, so that little is the kernel's."""
import json
import sys
import time

data = [{"a": i, "b": str(i) * 5} for i in range(300)]
text = bytes(range(256)) * 400
end = time.thread_time() + float(sys.argv[1])
while time.thread_time() < end:
    json.loads(json.dumps(data))
    (text[:50000] + text[50000:100000]).replace(b"a", b"bc")
    sorted(str(i) for i in range(2000))
    bytearray(100000)
