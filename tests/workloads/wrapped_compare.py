"""wrapped_compare.py PORT: asks a server for each application of wrapped_wsgi.py or wrapped_asgi.py, bare and wrapped, and compares
the answers byte for byte. Prints how many wrapped ones have answered, and one line for each difference."""
import re
import socket
import sys
import time

port = int(sys.argv[1])


def ask(path, method="GET"):
    with socket.create_connection(("127.0.0.1", port), 20) as connection:
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbody"
        connection.sendall(head.encode())
        answer = b""
        while True:
            try:
                part = connection.recv(65536)
            except ConnectionResetError:
                part = b""
            if not part:
                return re.sub(rb"(?im)^(date): .*\r\n", b"", answer)
            answer += part


deadline = time.monotonic() + 60
while True:
    try:
        names = ask("/names/").split(b"\r\n\r\n", 1)[1].decode().split()
        break
    except (OSError, IndexError):
        if time.monotonic() > deadline:
            raise
        time.sleep(0.1)
wrapped = 0
for name in names:
    for method in "GET", "HEAD":
        answers = []
        for how in "bare", "wrapped":
            answer = ask(f"/{how}/{name}", method)
            answers.append((answer, ask("/events/")))
        wrapped += 1
        if answers[0] != answers[1]:
            print(f"{method} {name}: bare {answers[0]}, wrapped {answers[1]}")
print(wrapped)
