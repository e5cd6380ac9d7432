# Source that stretches the tables of columns: multi-line expressions, characters of several bytes, long lines.
import functools


def spread(first, *others, **named):
    return (
        first
        + sum(
            other
            for other in others
        )
    ) * {
        "é": len(named),
        "字": lambda value, scale=2: value *
        scale,
    }["é" if "ü" in "übergrößenträger" else "字"](first, scale=len(others)) if named else first


@functools.lru_cache(
    maxsize=None,
)
def far_right(a):                                                                                                                                                                                                   return [[[[[[[[[[a + b for b in range(a)] for c in range(2)] for d in range(2)]]]]]]]] if a else None


class Late(object):
    try:
        value = [x for x in range(3) if (x
                 and not x % 2)]
    except (ValueError,
            TypeError) as error: value = str(error); print(value, sep="", end=""); del error
    finally:
        pass

    async def gather(self, them):
        async with self as one, \
                them as two:
            async for item in one: yield item, await two; continue
        with open("é") as a, open("字") as b: return


def match_like(value):
    global Late
    while value: value -= 1; assert value, f"{value!r:>{10}} é {spread(1, 2, named=3)}"
    else: return not None
    for _ in (): pass
    return -value if value else ~value












































































































































































































































































































def far_below(): return far_right(1) or \
    spread(1)
