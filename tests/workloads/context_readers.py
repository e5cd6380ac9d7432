"""context_readers.py LIBRARY: compares tests/unit/context_readers_preload.c with what this interpreter says."""
import contextvars
import ctypes
import random
import sys

FAILED = ctypes.c_size_t(-1).value
library = ctypes.PyDLL(sys.argv[1])
for name in "readers_variable", "readers_item", "readers_entry", "readers_slot":
    getattr(library, name).restype = ctypes.c_size_t
assert library.readers_start() == 0


def address(thing):
    return ctypes.c_size_t(id(thing))


def variable(var, plain):
    return library.readers_variable(address(var), plain)


def variables(count):
    """So many that are set in one context: their trie has that many leaves."""
    made = [contextvars.ContextVar(f"variable {i}") for i in range(count)]
    absent = [contextvars.ContextVar(f"absent {i}", default=i) for i in range(16)]

    def check():
        for n, var in enumerate(made):
            for plain in 0, 1:
                assert variable(var, plain) == 0
            value = object()
            token = var.set(value)
            assert variable(var, 1) == id(value)
            var.reset(token)
            assert variable(var, n % 2) == 0
            var.set(values[n])
        for n, var in enumerate(made):
            assert variable(var, n % 2) == id(values[n]), (count, n)
        for n, var in enumerate(absent):
            assert variable(var, n % 2) == 0

    values = [object() for _ in made]
    contextvars.copy_context().run(check)


class Name(str):
    """The hash of a ContextVar is that of its address, xor that of its name."""

    def __hash__(self):
        return self.chosen


def colliding(wanted):
    """A ContextVar with this hash: once more where the last one was."""
    others = []
    while True:
        var = contextvars.ContextVar("name")
        name = Name("name")
        name.chosen = wanted ^ hash(var) ^ hash("name")
        del var
        var = contextvars.ContextVar(name)
        if hash(var) == wanted:
            return var
        others.append(var)


def check_collisions():
    hashes = [0x1234567 << 8 | (n % 3) for n in range(12)] + [2**32 - 1] * 2  # the last is -1 in 32 bits
    made = [colliding(wanted) for wanted in hashes]
    values = [object() for _ in made]

    def check():
        for var, value in zip(made, values):
            assert variable(var, 1) == 0
            var.set(value)
        for n, var in enumerate(made):
            assert variable(var, n % 2) == id(values[n])

    contextvars.copy_context().run(check)


def check_variables():
    for count in 1, 2, 5, 16, 17, 33, 64, 200, 1000:
        variables(count)
    assert variable(object(), 0) == FAILED
    assert contextvars.Context().run(variable, contextvars.ContextVar("a"), 1) == 0


def check_ints():
    numbers = [0, 1, 2**30 - 1, 2**30, 2**60, 2**63, 2**64 - 1, 2**64, 2**127, 2**128 - 1, True]
    numbers += [random.getrandbits(random.randrange(1, 129)) for _ in range(200)]
    for number in numbers:
        for plain in 0, 1:
            value = (ctypes.c_uint64 * 2)()
            assert library.readers_int(address(number), plain, value) == 1
            assert value[0] | value[1] << 64 == number
    for other in -1, -(2**64), 2**160, 1.5, "1", None, b"1":
        assert library.readers_int(address(other), 1, (ctypes.c_uint64 * 2)()) == 0, other


class Pair(tuple):
    pass


def check_tuples():
    for kind in tuple, Pair:
        made = kind(object() for _ in range(6))
        for i, item in enumerate(made):
            assert library.readers_item(address(made), ctypes.c_size_t(i), i % 2) == id(item)
        assert library.readers_item(address(made), ctypes.c_size_t(6), 1) == FAILED
    assert library.readers_item(address([1, 2]), ctypes.c_size_t(0), 1) == FAILED


def check_bytes():
    for text in b"", b"a", b"endpoint=/items", bytes(range(256)), b"x" * 300:
        buffer = ctypes.create_string_buffer(300)
        length = library.readers_bytes(address(text), 1, buffer)
        assert length == min(len(text), 256) and buffer.raw[:length] == text[:256]
    assert library.readers_bytes(address("text"), 1, ctypes.create_string_buffer(300)) == -1


class Subclass(dict):
    pass


def check_dicts():
    key, value = "current-span-%d" % random.randrange(10**9), object()
    for kind in dict, Subclass:
        for others in range(0, 15):
            made = kind({"other %d" % i: i for i in range(others)})
            assert library.readers_entry(address(made), address(key), others % 2) == 0
            made[key] = value
            assert library.readers_entry(address(made), address(key), others % 2) == id(value)
    assert library.readers_entry(address([]), address(key), 1) == FAILED


class Slotted:
    __slots__ = ("first", "second", "__dict__")


class Derived(Slotted):
    __slots__ = ("third",)


class Further(Derived):
    pass


def check_slots():
    def slot(kind, name, of):
        return library.readers_slot(address(kind), name, address(of))

    for kind in Slotted, Derived, Further:
        made = kind()
        assert slot(kind, b"second", made) == 0
        made.second = value = object()
        assert slot(kind, b"second", made) == id(value)
        assert slot(kind, b"fourth", made) == FAILED
    made.third = value = object()
    assert slot(Further, b"third", made) == slot(Derived, b"third", made) == id(value)
    assert slot(Derived, b"third", Slotted()) == FAILED  # has no such slot
    assert slot(Derived, b"third", object()) == FAILED


def check_steps():
    """While a variable is set, reset and other contexts run, it has one of its values at every instruction."""
    var = contextvars.ContextVar("stepped")
    others = [contextvars.ContextVar(f"other {i}") for i in range(20)]
    values = [object() for _ in range(8)]
    allowed = (ctypes.c_size_t * (len(values) + 1))(0, *map(id, values))
    counts = (ctypes.c_uint64 * 3)()

    def inner(i):
        token = var.set(values[i % 8])
        others[i % 20].set(i)
        var.reset(token)
        var.set(values[i % 5])

    def outer():
        for i in range(2):
            contextvars.copy_context().run(inner, i)
            inner(i)

    library.readers_step(address(var), allowed, len(allowed))
    contextvars.copy_context().run(outer)
    library.readers_stop(counts)
    steps, wrong, unread = counts
    print(f"{steps} steps, {wrong} wrong, {unread} not read")
    assert steps > 15000 and not wrong and not unread


for check in check_variables, check_collisions, check_ints, check_tuples, check_bytes, check_dicts, check_slots, check_steps:
    check()
