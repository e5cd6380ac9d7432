"""counted_calls.py LIGHT HEAVY: calls counted_app.py's endpoints so often, without a server."""
import sys
import time

import counted_app

time.sleep(1.5)  # what was imported is found once a second
paths = ["/light"] * int(sys.argv[1]) + [f"/heavy/{number}" for number in range(int(sys.argv[2]))]
for path in paths:
    body = counted_app.app({"PATH_INFO": path, "REQUEST_METHOD": "GET"}, lambda *_: None)
    assert b"".join(body)
