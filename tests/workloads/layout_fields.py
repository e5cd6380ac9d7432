"""layout_fields.py LIBRARY: compares the row of preload/cpython/layouts.c for this interpreter with the interpreter itself:
objects whose fields it can name, read at the offsets that the row says (tests/unit/python_words_preload.c)."""
import asyncio
import collections
import contextvars
import ctypes
import functools
import gc
import sys
import types

LIBRARY = ctypes.PyDLL(sys.argv[1])
LIBRARY.words_field.argtypes = [ctypes.c_char_p]
compared, wrong = 0, []


def field(name):
    value = LIBRARY.words_field(name.encode())
    assert value >= 0, name
    return value


def state(name):
    return ctypes.c_int8(field(f"generator.{name}")).value


def number(kind, address):
    return kind.from_address(address).value


def word(address):
    return number(ctypes.c_ssize_t, address)


def same(name, got, expected):
    global compared
    compared += 1
    if got != expected:
        wrong.append(f"{name}: {got:#x}, not {expected:#x}")


def same_word(name, object, expected):
    same(name, word(id(object) + field(name)), expected)


def same_object(name, object, expected):
    same_word(name, object, id(expected))


class Plain:
    pass


class Derived(Plain):
    __slots__ = ("place",)


def outer():
    captured = [1]

    def inner(argument, *, other=None):
        own = captured
        return [argument for argument in own], lambda: own

    inner.attribute = 1
    return inner, captured


def check_types():
    for kind in (Plain, Derived, dict, int, type, asyncio.Future):
        same_word("type.tp_basicsize", kind, kind.__basicsize__)
        same_word("type.tp_flags", kind, kind.__flags__)
        same_word("type.tp_dictoffset", kind, kind.__dictoffset__)
        same_object("type.tp_base", kind, kind.__base__)
    same("type.tp_name", ctypes.string_at(word(id(Plain) + field("type.tp_name"))) == b"Plain", True)
    same_object("type.tp_dict", Plain, gc.get_referents(Plain.__dict__)[0])
    if field("heap_type.size"):
        same("heap_type.size", type.__basicsize__, field("heap_type.size"))
    if field("type.managed_dict"):
        same("type.managed_dict", bool(Plain.__flags__ & field("type.managed_dict")), True)
        same("type.managed_dict", bool(int.__flags__ & field("type.managed_dict")), False)
    if field("type.inline_values"):
        same("type.inline_values", bool(Plain.__flags__ & field("type.inline_values")), True)
    plain = Plain()
    plain.attribute = 1
    attributes = plain.__dict__
    if field("instance.dict"):
        same("instance.dict", word(id(plain) - field("instance.dict")), id(attributes))


def check_objects():
    items, pair = [object(), object()], (object(), object(), object())
    same_word("ob_size", pair, 3)
    same_object("items.tuple_ob_item", pair, pair[0])
    same("items.list_ob_item", word(word(id(items) + field("items.list_ob_item"))), id(items[0]))
    for value, digits in ((0, 0), (12345, 1), (1 << 40 | 77, 2)):
        same("integer.non_size_bits", word(id(value) + field("ob_size")) >> field("integer.non_size_bits"), digits)
        if digits:
            same("integer.ob_digit", number(ctypes.c_uint32, id(value) + field("integer.ob_digit")), value & ((1 << 30) - 1))
    if field("integer.sign_mask"):
        same("integer.sign_mask", [word(id(value) + field("ob_size")) & field("integer.sign_mask") for value in (7, 0, -7)] == [0, 1, 2], True)
    attributes = {"a": 1, "b": 2, 3: 4}
    same_word("dict.ma_used", attributes, 3)
    same("dict.ma_values", word(id(attributes) + field("dict.ma_values")), 0)
    keys = word(id(attributes) + field("dict.ma_keys"))
    same("dict_keys.dk_nentries", word(keys + field("dict_keys.dk_nentries")), 3)
    if field("dict_keys.dk_size"):
        slots = word(keys + field("dict_keys.dk_size"))
        same("dict_keys.dk_size", slots in (8, 16), True)
    else:
        slots = 1 << number(ctypes.c_uint8, keys + field("dict_keys.dk_log2_size"))
        same("dict_keys.dk_log2_size", slots in (8, 16), True)
        same("dict_keys.dk_log2_index_bytes", 1 << number(ctypes.c_uint8, keys + field("dict_keys.dk_log2_index_bytes")), slots)
        same("dict_keys.dk_kind", number(ctypes.c_uint8, keys + field("dict_keys.dk_kind")), 0)
    # three entries of hash, key, value come after the slots, of a byte each
    same("dict_keys.dk_indices", word(keys + field("dict_keys.dk_indices") + slots + 2 * 24 + 8), id(3))
    text, wide = "abc", "abc\u20ac"
    same_word("text.length", text, 3)
    same("text.ascii_data", ctypes.string_at(id(text) + field("text.ascii_data"), 3) == b"abc", True)
    same("text.compact_data", ctypes.string_at(id(wide) + field("text.compact_data"), 8).decode("utf-16-le") == wide, True)
    same_word("text.hash", text, hash(text))
    for string, kind, is_ascii in ((text, 1, 1), (wide, 2, 0)):
        bits = number(ctypes.c_uint32, id(string) + field("text.state")) >> field("text.kind_shift")
        same("text.state", bits & 31, kind | 8 | is_ascii << 4)
    same_word("bytes.length", b"xyz", 3)
    same("bytes.data", ctypes.string_at(id(b"xyz") + field("bytes.data"), 3) == b"xyz", True)
    same_object("object.md_dict", sys, sys.__dict__)
    queue = collections.deque(items)
    same_word("ob_size", queue, 2)
    first = word(id(queue) + field("object.leftblock")) + field("object.block_data") + 8 * word(id(queue) + field("object.leftindex"))
    same("object.leftblock", word(first), id(items[0]))
    slotted = Derived()
    slotted.place = items
    definition = word(id(Derived.place) + field("object.d_member"))
    same("object.member_offset", word(id(slotted) + word(definition + field("object.member_offset"))), id(items))
    same("object.member_type", number(ctypes.c_int, definition + field("object.member_type")), 16)
    import datetime
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_ssize_t, [ctypes.py_object, ctypes.c_char_p]
    same_word("object.capsule_pointer", datetime.datetime_CAPI, pointer(datetime.datetime_CAPI, b"datetime.datetime_CAPI"))


def check_functions():
    inner, captured = outer()
    code = inner.__code__
    same_object("function.code", inner, code)
    same_object("function.closure", inner, inner.__closure__)
    same_object("function.dict", inner, inner.__dict__)
    same_object("function.qualname", inner, inner.__qualname__)
    same_object("object.ob_ref", inner.__closure__[0], captured)
    same_object("code.filename", code, code.co_filename)
    same_object("code.qualname", code, code.co_name if field("code.unqualified") else code.co_qualname)
    same("code.unqualified", bool(field("code.unqualified")), not hasattr(code, "co_qualname"))
    same_object("code.consts", code, code.co_consts)
    for name, value in (("flags", code.co_flags), ("first_line", code.co_firstlineno)):
        same(f"code.{name}", number(ctypes.c_int, id(code) + field(f"code.{name}")), value)
    same("PP_CO_NESTED", code.co_flags & 16, 16)
    same("code.line_table", word(id(code) + field("code.line_table")),
         id(code.co_lnotab if field("code.line_table_format") == 0 else code.co_linetable))
    if field("code.co_cellvars"):
        for name, value in (("local_names", code.co_varnames), ("co_cellvars", code.co_cellvars), ("co_freevars", code.co_freevars)):
            same_object(f"code.{name}", code, value)
        same_object("code.bytecode", code, code.co_code)
    else:
        names = ctypes.cast(word(id(code) + field("code.local_names")), ctypes.py_object).value
        same("code.local_names", names[:2] == code.co_varnames[:2], True)
        same_word("code.units", code, len(code.co_code) // 2)
    method, builtin, partial = types.MethodType(inner, captured), captured.append, functools.partial(inner, 1)
    same_object("callable.im_func", method, inner)
    same_object("callable.im_self", method, captured)
    same_object("callable.m_self", builtin, captured)
    same("callable.m_ml", ctypes.string_at(word(word(id(builtin) + field("callable.m_ml")))) == b"append", True)
    same_object("callable.partial_fn", partial, inner)
    same_object("callable.partial_args", partial, partial.args)


@types.coroutine
def ready():
    yield 1


async def waits(on):
    some = [object() for _ in range(3)]
    await on
    return some


def yields():
    some = [object() for _ in range(3)]
    yield state_of(running)
    return some


def state_of(generator):
    at = field("generator.gi_frame_state")
    return number(ctypes.c_int8, id(generator) + at) if at else None


def stack_top(generator):
    frame = word(id(generator) + field("generator.object")) if field("generator.object") else id(generator) + field("generator.frame")
    if field("frame.stackpointer"):
        return word(frame + field("frame.stackpointer"))
    base = word(frame + field("frame.valuestack")) if field("frame.valuestack") else frame + field("frame.locals")
    return base + 8 * number(ctypes.c_int, frame + field("frame.stacktop"))


running = yields()


def check_generators():
    inside = next(running)
    awaited = ready()
    coroutine, finished = waits(awaited), waits(ready())
    coroutine.send(None)
    same_object("generator.qualname", coroutine, coroutine.__qualname__)
    top = stack_top(coroutine)
    same("frame.awaited", word(top - 8 * field("frame.awaited")) & ~field("code_tag"), id(awaited))
    finished.send(None)
    try:
        finished.send(None)
    except StopIteration:
        pass
    if field("generator.gi_frame_state"):
        same("generator.frame_executing", inside, state("frame_executing"))
        same("generator.frame_suspended", state_of(running), state("frame_suspended"))
        same("generator.frame_suspended_yield_from", state_of(coroutine), state("frame_suspended_yield_from") or state("frame_suspended"))
        same("generator.frame_finished", state_of(finished) >= state("frame_finished"), True)
        frame = id(coroutine) + field("generator.frame")
        same("frame.code", word(frame + field("frame.code")) & ~field("code_tag"), id(coroutine.cr_code))
        same("frame.owner", number(ctypes.c_uint8, frame + field("frame.owner")), 1)
        same("frame.previous", word(frame + field("frame.previous")) == 0 or not field("frame.previous_cleared"), True)
        shown = coroutine.cr_frame
        same("frame.object", word(frame + field("frame.object")), id(shown))
        same("frame.f_frame", word(id(shown) + field("frame.f_frame")), frame)
    else:
        frame = id(coroutine.cr_frame)
        same("generator.object", word(id(coroutine) + field("generator.object")), frame)
        same("frame.instr", number(ctypes.c_int, frame + field("frame.instr")) * field("frame.lasti_bytes"), coroutine.cr_frame.f_lasti)
        same("frame.code", word(frame + field("frame.code")), id(coroutine.cr_code))
    same("frame.globals", word(frame + field("frame.globals")), id(globals()))
    coroutine.close()


async def check_tasks():
    task_type, future_type = type(asyncio.current_task()), type(asyncio.get_running_loop().create_future())
    task, future = asyncio.current_task(), future_type()
    same("task.size", task_type.__basicsize__, field("task.size"))
    same_object("task.coroutine", task, task.get_coro())
    task.set_name("a name")
    same_object("task.name", task, task.get_name())
    same("task.context", word(word(id(task) + field("task.context")) + field("object_type")), id(contextvars.Context))
    first, second = id, repr
    future.add_done_callback(first)
    future.add_done_callback(second)
    same_object("asyncio.fut_callback0", future, first)
    callbacks = ctypes.cast(word(id(future) + field("asyncio.fut_callbacks")), ctypes.py_object).value
    same("asyncio.fut_callbacks", callbacks[0][0] is second, True)
    future.cancel()


def check_context():
    variable, value = contextvars.ContextVar("variable"), object()
    context = contextvars.Context()
    context.run(variable.set, value)
    same_word("contextvars.var_hash", variable, hash(variable))
    root = word(word(id(context) + field("contextvars.ctx_vars")) + field("contextvars.h_root"))
    same("contextvars.b_bitmap", bin(number(ctypes.c_uint32, root + field("contextvars.b_bitmap"))).count("1"), 1)
    same("contextvars.b_array", word(root + field("contextvars.b_array")), id(variable))
    same("contextvars.b_array", word(root + field("contextvars.b_array") + 8), id(value))


if LIBRARY.words_find():
    sys.exit("not read")
same("minor", field("minor"), sys.version_info[1])
same_object("object_type", Plain, type)
check_types()
check_objects()
check_functions()
check_generators()
check_context()
asyncio.run(check_tasks())
print(f"{compared} compared, {len(wrong)} wrong")
sys.exit("\n".join(wrong) or (None if compared > 80 else "too few"))
