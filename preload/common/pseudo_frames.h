/* SPDX-License-Identifier: Apache-2.0 */
/* Names the frames that are no functions: what the library writes into stacks (PP_FRAME_PSEUDO), and what the tools put
 * there. The page has some of them again, in JavaScript: tests/unit/test_tools_flame.c compares. */
#ifndef PP_COMMON_PSEUDO_FRAMES_H
#define PP_COMMON_PSEUDO_FRAMES_H

/* CPU time of which no stack is known. */
#define PP_PSEUDO_UNSAMPLED    "[unsampled]"
#define PP_PSEUDO_LOST         "[lost]"
#define PP_PSEUDO_NOT_SELECTED "[not selected]"
#define PP_PSEUDO_THREAD_EXIT  "[thread exit]"
#define PP_PSEUDO_PAUSED       "[paused]" /* by `pyprof ctl`; pyprof_pause's has this text, too (PP_REASONS) */

/* Marks in the stacks of tasks: log_format.h says where they are. The tools put names into those of tasks. */
#define PP_PSEUDO_TASK       "[task]"
#define PP_PSEUDO_TASK_NAMED "[task " /* begins so, and ends with "]" */
#define PP_PSEUDO_AWAITER    "[awaiter]"
#define PP_PSEUDO_AWAITED    "[awaited]"
#define PP_PSEUDO_CREATOR    "[creator]" /* follows the frames of the task that made it: its first step is to come */

/* Native code without a name, and what is missing of native code: begins so, a reason follows (PP_REASONS). */
#define PP_NATIVE_TRUNCATED        "native stack truncated"
#define PP_PSEUDO_JIT              "[jit]"
#define PP_PSEUDO_JIT_OR_UNLOADED  "[jit or unloaded]" /* a library was closed (dlclose) since the sample was taken */
#define PP_PSEUDO_NATIVE_TRUNCATED "[" PP_NATIVE_TRUNCATED

/* Made by the tools. */
#define PP_PSEUDO_GC               "[gc]"
#define PP_PSEUDO_INTERPRETER      "[interpreter]"    /* in place of frames of the interpreter only */
#define PP_PSEUDO_NATIVE           "[native]"         /* in place of native frames only */
#define PP_PSEUDO_OTHERS           "[code of others]" /* in place of frames that are not the application's only */
#define PP_PSEUDO_LOOP             "[loop]"           /* in place of what is outside of a task: its event loop */
#define PP_PSEUDO_MEANWHILE        "[native threads meanwhile]"
#define PP_PSEUDO_FRAME_OF_UNKNOWN "[frame of a kind unknown to this pyprof]"
#define PP_PSEUDO_NO_STACK         "[no stack]" /* of a sample whose node is the root */
/* Stand for definitions that were in a damaged block: the CPU time is known, the stack is not. */
#define PP_PSEUDO_STACK_LOST "[stack lost in a damaged block]"
#define PP_PSEUDO_FRAME_LOST "[frame lost in a damaged block]"

/* A pseudo-frame that begins so is a part of a stack; any other is CPU time of which no stack is known. */
#define PP_PSEUDO_PARTS                                                                                                \
    "[native", "[interpreter", "[python", "[jit", "[frame", "[task", PP_PSEUDO_LOOP, PP_PSEUDO_CREATOR, "[await"

#endif
