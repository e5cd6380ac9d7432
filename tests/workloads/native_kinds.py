"""Native code of many kinds, each as a phase of tests/unit/unwind_oracle_preload.c, which is preloaded:
native_kinds.py SAMPLES STEPS THROWING.SO [KIND...]. Kinds whose package is not there are named on stdout."""
import bz2
import ctypes
import hashlib
import hmac
import json
import lzma
import math
import os
import random
import re
import sqlite3
import ssl
import struct
import sys
import threading
import time
import zlib

random.seed(1)
text = " ".join(str(random.random()) for _ in range(2000))
data = text.encode()


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def tree(n):
    if n:
        yield from tree(n - 1)
        yield n
        yield from tree(n - 1)


class Number:
    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        return self.value < other.value

    def __hash__(self):
        return hash(self.value)

    def __eq__(self, other):
        return self.value == other.value


def python():
    fib(12)
    list(tree(6))
    numbers = sorted(Number(i * 7919 % 1009) for i in range(100))
    dict.fromkeys(numbers)
    try:
        [1 // (i - 50) for i in range(100)]
    except ZeroDivisionError:
        pass
    json.loads(json.dumps({str(i): [i, i / 3, None, "é"] for i in range(50)}))
    re.sub(r"(\d)\.(\d+)", lambda m: m.group(2), text[:2000])
    ("%s %r" % (text[:100], numbers[0].value)).encode("utf-16").decode("utf-16")
    max(10 ** 300 * 7 ** 200 // 3 ** 150, 1)


qsort = ctypes.CDLL(None).qsort
compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_long), ctypes.POINTER(ctypes.c_long))(
    lambda a, b: (a[0] > b[0]) - (a[0] < b[0]))


def libc():
    values = (ctypes.c_long * 30)(*[i * 7919 % 101 for i in range(30)])
    qsort(values, 30, ctypes.sizeof(ctypes.c_long), compare)
    data.find(b"absent")
    data.count(b"\n")
    text.split(" ")
    for size in (10, 100, 1000, 10000):
        bytearray(data[:size]) * 3 == data[:size] * 3
    for i in range(1, 40):
        math.pow(i, 1.37) + math.sin(i * 1e6) + math.exp(i / 7) + math.lgamma(i)
        float(str(i / 7))
    time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(1e9))
    os.stat("/")
    os.getpid()
    struct.pack("<dq", 1.5, 7)
    "%.3f %g" % (math.pi, 1e-300)
    time.sleep(0)


def compress():
    zlib.decompress(zlib.compress(data[:8000], 6))
    bz2.decompress(bz2.compress(data[:4000]))
    lzma.decompress(lzma.compress(data[:2000], preset=0))


def openssl():
    for name in ("md5", "sha1", "sha256", "sha512", "sha3_256", "blake2b", "sha384"):
        hashlib.new(name, data[:6000]).hexdigest()
    hmac.new(b"key", data[:1000], "sha256").digest()
    hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 50)
    hashlib.scrypt(b"password", salt=b"salt", n=16, r=8, p=1)


def tls():
    both = []
    for side in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT):
        context = ssl.SSLContext(side)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        # Without a certificate: no key has to be made.
        context.set_ciphers("AECDH-AES256-SHA:@SECLEVEL=0")
        both.append(context)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = both[0].wrap_bio(to_server, to_client, server_side=True)
    client = both[1].wrap_bio(to_client, to_server)
    left = [client, server]
    while left:
        try:
            left[0].do_handshake()
            left.pop(0)
        except ssl.SSLWantReadError:
            left.reverse()
    for i in range(5):
        client.write(data[:8000])
        server.read(8000)


def sqlite():
    connection = sqlite3.connect(":memory:")
    connection.create_function("twice", 1, lambda x: x * 2)
    connection.create_collation("backwards", lambda a, b: (a < b) - (a > b))
    connection.execute("create table t (a integer primary key, b text, c real)")
    connection.execute("create index i on t (b)")
    connection.executemany("insert into t values (?, ?, ?)", [(i, str(i * 7919 % 1009), i / 3) for i in range(100)])
    connection.execute("select twice(x.a), count(*) from t x join t y on x.b > y.b where y.b like '1%' "
                       "group by x.a order by x.b collate backwards").fetchall()
    connection.close()


def numpy():
    import numpy as np
    matrix = np.random.default_rng(1).random((60, 60))

    def work():
        np.linalg.svd(matrix @ matrix.T)
        np.linalg.solve(matrix, matrix[0])
        np.fft.fft(matrix).sum()
        np.sort(matrix.ravel())
        np.einsum("ij,jk->ik", matrix[:20], matrix)
        (matrix.astype(np.float32) @ matrix.astype(np.float32)).std()
        np.exp(matrix) + np.sin(matrix)
        np.array([Number(i) for i in range(50)], dtype=object).sort()
        np.frompyfunc(fib, 1, 1)(np.arange(8))
    return work


def lxml():
    from lxml import etree
    source = "<r>" + "".join('<a n="%d"><b>%s</b></a>' % (i, text[i:i + 30]) for i in range(100)) + "</r>"
    style = etree.XSLT(etree.XML(
        '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="a">'
        '<c><xsl:value-of select="b"/></c></xsl:template></xsl:stylesheet>'))
    etree.FunctionNamespace(None)["half"] = lambda context, n: n / 2

    def work():
        root = etree.fromstring(source)
        root.xpath("//a[half(number(@n)) > 10]/b/text()")
        style(root)
        etree.tostring(root, pretty_print=True)
        etree.HTML("<p>" + text[:2000])
        for node in root.iter("b"):
            node.text = "x"
    return work


def rust():
    import orjson
    value = {str(i): [i, i / 3, None, "é" * 10, {"deep": [text[:50]]}] for i in range(100)}

    def work():
        orjson.loads(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))
        orjson.dumps([Number(1), Number(2)] * 5, default=lambda n: {"value": n.value})
        try:
            orjson.loads(text)
        except orjson.JSONDecodeError:
            pass
    return work


def exceptions():
    throw = ctypes.CDLL(sys.argv[3]).throw_and_catch

    def work():
        throw(12)
    return work


def loader():
    for name in (None, "libc.so.6", "libm.so.6"):
        library = ctypes.CDLL(name)
        for function in ("malloc", "strlen", "getenv"):
            hasattr(library, function)
        hasattr(library, "absent")


phase = ctypes.CDLL(None).oracle_phase
left = ctypes.CDLL(None).oracle_left


def run(name, work, count, step):
    work()
    phase(name.encode(), count, step)
    while left():
        work()


KINDS = {kind.__name__: kind for kind in (python, libc, compress, openssl, tls, sqlite, loader)}
PACKAGES = {kind.__name__: kind for kind in (numpy, lxml, rust, exceptions)}


def main():
    samples, steps = int(sys.argv[1]), int(sys.argv[2])
    for name in sys.argv[4:] or [*KINDS, *PACKAGES]:
        work = KINDS.get(name)
        try:
            if not work:
                work = PACKAGES[name]()
            work()
        except (ImportError, OSError, ssl.SSLError, ValueError) as error:
            print("without", name, repr(error), flush=True)
            continue
        run(name, work, samples, 0)
        run(name, work, steps, 1)
        if name == "python":
            thread = threading.Thread(target=run, args=("thread", work, samples, 0))
            thread.start()
            thread.join()
    phase(None, 0, 0)


main()
