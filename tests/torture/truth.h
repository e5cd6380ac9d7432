/*
 * What the workload says about itself, and whether a captured stack agrees.
 *
 * Each workload function puts its id on a shadow stack in raw memory when it begins, takes it off when it ends, and
 * notes which of its calls it makes that it makes. Lines are numbered through all workload files, so a line tells its
 * function and (line_flags) what may happen there. Between a call and the entry into the shadow stack a frame more than
 * it says is right, if that frame is at such a line; `reach` > depth says that frames are just leaving or coming
 * back one by one (exceptions, coroutines).
 */
#ifndef TORTURE_TRUTH_H
#define TORTURE_TRUTH_H

#include <stdbool.h>
#include <stdint.h>

#define TRUTH_SHADOWS 16
#define TRUTH_LINES   4096
#define TRUTH_ANY     (TRUTH_LINES - 1) /* as the line of a call: which one depends on the version */
#define TRUTH_BASE    16                /* frames below the workload */

/* In bytearrays of the workload: storing a byte into one is one of the cheapest things that Python can do to raw
 * memory, and what is done for the truth thins out what is tested. */
struct truth_shadow {
    const volatile uint8_t *state; /* depth, reach */
    const volatile uint8_t *ids;   /* of the functions */
    const volatile uint8_t *sites; /* number of the call being made, within its function; 0: none */
};

enum { TRUTH_CURRENT, TRUTH_NEXT }; /* the shadow stack that runs; 1 + the one being switched to, or 0 */

enum truth_kind {
    TRUTH_FUNCTION,    /* on the shadow stack */
    TRUTH_TRANSPARENT, /* lambda, comprehension: only where its line says so */
    TRUTH_LEAF,        /* not on the shadow stack: on top of any function that is making a call */
    TRUTH_BASE_FRAME,  /* id: position from the root */
    TRUTH_HIDDEN,      /* the interpreter's own */
};

struct truth_code {
    char name[64], qualname[128];
    const char *file;
    uint32_t first_line, id, parent;
    uint32_t kind;  /* enum truth_kind */
    bool generator; /* or coroutine: its frame is there once when it is made, too */
};

enum truth_line {
    TRUTH_LINE_ENTRY = 1,     /* becomes part of the shadow stack here */
    TRUTH_LINE_EXIT = 2,      /* has left the shadow stack here */
    TRUTH_LINE_LIBRARY = 4,   /* Python functions of the library may be above */
    TRUTH_LINE_COLLECTS = 16, /* a garbage collection may be running */
    TRUTH_LINE_WAITS = 32,    /* the GIL may be given up */
    TRUTH_LINE_VIA = 8,       /* what it calls is called by exactly one transparent function */
};

struct truth_frame {
    const struct truth_code *code; /* NULL: the library's */
    uint32_t line;                 /* 0: unknown */
    bool begun;                    /* has passed its first RESUME */
};

/* Registration, before the first step. */
void truth_add_code(const char *name, const char *qualname, const char *file, uint32_t first_line, uint32_t kind,
                    uint32_t id, uint32_t parent, bool generator);
void truth_set_line(uint32_t line, uint32_t flags);
void truth_set_site(uint32_t id, uint32_t site, uint32_t line);
void truth_set_shadow(uint32_t index, const struct truth_shadow *shadow);
void truth_set_switch(const volatile uint8_t *address); /* {TRUTH_CURRENT, TRUTH_NEXT} */
void truth_add_base(const char *name, const char *file, uint32_t first_line, uint32_t line);

/* name: plain or qualified. NULL when it is none of ours. */
const struct truth_code *truth_find(const char *name, const char *file, uint32_t first_line);

/* The innermost workload frame of a stack that agrees. */
enum truth_leaf {
    TRUTH_LEAF_KNOWN,  /* is on the shadow stack */
    TRUTH_LEAF_COMING, /* not yet */
    TRUTH_LEAF_GOING,  /* no more, or one of both */
};

/* Compares a stack, root first, with the shadow stacks. NULL when it agrees, else why not. lines: whether the frames'
 * lines are known. */
const char *truth_compare(const struct truth_frame *frames, unsigned count, bool lines, enum truth_leaf *leaf);

/* Whether one of the frames is at a line with that flag. */
bool truth_allows(const struct truth_frame *frames, unsigned count, enum truth_line flag);

/* Which shadow stack runs, its depth; whether another is being switched to. */
uint32_t truth_current(void);
uint32_t truth_depth(void);
bool truth_switching(void);

/* Writes both to stderr. */
void truth_print(const struct truth_frame *frames, unsigned count);

#endif
