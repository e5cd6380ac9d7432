"""Numbers, messages of protocol buffers and blocks of logs, for whoever reads what the library and `pyprof` write."""

import struct
import sys


def need(condition, *what):
    if not condition:
        sys.exit(" ".join(map(str, what)))


def varint(data, at):
    """Returns the number at this place, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def varints(data):
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def packed(values):
    """The numbers of a repeated field, whether it is packed or not."""
    return [number for value in values for number in ([value] if isinstance(value, int) else varints(value))]


def message(data):
    """Yields (field, value) of a message: numbers, and bytes of what has a length."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at : at + value], at + value
        elif key & 7:
            raise ValueError(f"wire type {key & 7}")
        yield key >> 3, value


def fields(payload):
    """{key: bytes} of a PROCESS or ACCOUNTING block."""
    found, at = {}, 0
    while at < len(payload):
        key, at = varint(payload, at)
        length, at = varint(payload, at)
        found[key], at = payload[at : at + length], at + length
    return found


def records(payload, at):
    """Yields what follows a length, each."""
    while at < len(payload):
        length, at = varint(payload, at)
        yield payload[at : at + length]
        at += length


def blocks(path):
    """Yields (kind, payload) of each block of a log, see preload/common/log_format.h; the last may be cut."""
    with open(path, "rb") as file:
        data = file.read()
    at = 16
    while at + 16 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        yield kind, data[at + 16 : at + 16 + length]
        at += 16 + length
