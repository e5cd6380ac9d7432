/* SPDX-License-Identifier: Apache-2.0 */
/* PP_CHECK() says what is true at a place as long as the code is right, whatever the program does. It is compiled into
 * the unit tests, torture and the sanitized builds (PP_CHECKS, see the Makefile), where a false one ends the process on
 * the spot: a debugger shows the line. The product has none of it, and does not evaluate the condition.
 *
 * It is no way to treat an error: what can happen is handled. async-signal-safe, as its condition is. */
#ifndef PP_BASE_CHECK_H
#define PP_BASE_CHECK_H

#ifdef PP_CHECKS
/* The line keeps compilers from making one trap of several. */
#define PP_CHECK(condition)                                                                                            \
    do {                                                                                                               \
        if (__builtin_expect(!(condition), 0)) {                                                                       \
            __asm__ volatile("" : : "i"(__LINE__));                                                                    \
            __builtin_trap();                                                                                          \
        }                                                                                                              \
    } while (0)
#else
#define PP_CHECK(condition) ((void)(0 && (condition)))
#endif

#endif
