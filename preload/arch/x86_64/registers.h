/*
 * What the walker and the row compiler know about the processor: x86-64 by its DWARF register numbers (System V psABI,
 * figure 3.36). Everything that differs on another architecture stands in this file.
 */
#ifndef PP_CAPTURE_UNWIND_REGISTERS_H
#define PP_CAPTURE_UNWIND_REGISTERS_H

#include <stdint.h>
#include <ucontext.h>

enum {
    PP_REG_RBX = 3,
    PP_REG_RBP = 6,
    PP_REG_RSP = 7,
    PP_REG_R12 = 12,
    PP_REG_COUNT = 16,
    PP_REG_RA = 16, /* the return address is a column of its own */
};

/* Registers that a function hands back to its caller unchanged: they can be followed outward. The first of them is
 * tracked slot 0 and so on; the return address is the last slot. */
#define PP_TRACKED_REGISTERS                                                                                           \
    {                                                                                                                  \
        PP_REG_RBX, PP_REG_RBP, PP_REG_R12, PP_REG_R12 + 1, PP_REG_R12 + 2, PP_REG_R12 + 3, PP_REG_RA                  \
    }
enum {
    PP_TRACKED_RBX = 0,
    PP_TRACKED_RBP = 1,
    PP_TRACKED_RA = 6,
    PP_TRACKED_COUNT = 7,
};
#define PP_CALLEE_SAVED_MASK  (1u << PP_REG_RBX | 1u << PP_REG_RBP | 1u << PP_REG_RSP | 0xfu << PP_REG_R12)
#define PP_ALL_REGISTERS_MASK 0xffffu

/* A leaf may keep data below its stack pointer; the kernel does not write there when it delivers a signal. */
#define PP_RED_ZONE 128

/* gregset_t index of each DWARF register; the same order holds in the frame that the kernel pushes for a signal. */
#define PP_GREG_OF_DWARF                                                                                               \
    {                                                                                                                  \
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8, REG_R9, REG_R10, REG_R11,      \
            REG_R12, REG_R13, REG_R14, REG_R15                                                                         \
    }

/* In a signal's frame, at its return into the restorer, SP points to the ucontext, whose gregs stand here. The CFI of
 * every restorer says the same: r8 at 40, rsp at 160, rip at 168. */
#define PP_SIGNAL_FRAME_GREGS 40
#define PP_SIGNAL_FRAME_SIZE  (PP_SIGNAL_FRAME_GREGS + 8 * (REG_RIP + 1))

#endif
