"""Pure Python with deep stacks and much garbage."""

import sys
import time

import sympy
from sympy.core.cache import clear_cache

seconds = float(sys.argv[1])
x, y = sympy.symbols("x y")
while time.process_time() < seconds:
    clear_cache()
    sympy.integrate(sympy.exp(-x) * sympy.sin(3 * x) * x, x)
    sympy.simplify(sympy.sin(x) ** 4 - 2 * sympy.cos(x) ** 2 * sympy.sin(x) ** 2 + sympy.cos(x) ** 4)
    sympy.factor(sympy.expand((x + y + 1) ** 8))
    sympy.solve([x**2 + y**2 - 4, x * y - 1], [x, y])
