/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules/ knows the loaded ELF objects and the code of JITs: what is mapped where, build-ids, unwind rows, symbol
 * names. All functions here: flush thread only (or the exiting thread once the flush thread has stopped). Memory is our
 * own mappings.
 */
#ifndef PP_MODULES_H
#define PP_MODULES_H

#include "../arch/arch.h"
#include "../capture/unwind_table.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PP_BUILD_ID_MAX 32

struct pp_module {
    /* From dl_iterate_phdr; constant while the module is known. */
    uintptr_t start, end;          /* executable segments, lowest to highest address */
    uintptr_t bias;                /* dlpi_addr: address of the process - bias = address in the file's terms */
    uint64_t text_file_offset;     /* of `start` */
    uint64_t tls_module, tls_size; /* of its thread-local block: the number in a DTV, 0: it has none */
    struct pp_module_time since;   /* capture/unwind_table.h */
    const char *path;              /* absolute; the executable's own path for the main program, "[vdso]" */
    /* Of modules that pp_module_find has returned: */
    uint8_t build_id[PP_BUILD_ID_MAX];
    uint8_t build_id_length; /* 0: none */
    uint32_t flags;          /* PP_MODULE_* of log_format.h (MAIN, VDSO; PYTHON when it defines _PyRuntime) */

    /* Owned by the log writer: the id of the module in that segment of the log, 0 when it was never written. */
    uint32_t log_id, log_segment;

    bool exports_no_context; /* labels/context_facts.c has searched it */

    struct pp_module_private *private;
};

/* Checks whether objects were loaded or unloaded since the last call (dlpi_adds, dlpi_subs), updates the list and
 * publishes pp_module_table. Cheap when nothing changed. Returns whether the list changed: unloaded modules are no
 * longer found then. Tables and modules hold as capture/unwind_table.h says. */
bool pp_modules_refresh(void);

/* Compiles the rows of the function that holds the address, if no sample has met it before. True: pp_modules_draft()
 * knows it now, if only that there is no function, or no rule. False: no module holds it, or there is no memory. */
bool pp_module_add_sampled(uintptr_t address);
/* Does so for an address at which a walk has stopped: at_call, the last byte of a call, else an interrupted
 * instruction. Where libc's own code has no unwind information, or on AArch64 assembly, its instructions tell the rule.
 */
bool pp_module_add_stopped(uintptr_t address, bool at_call);
/* Returns the table that handlers will have after the next pp_modules_publish. Valid until the next call here. NULL:
 * no memory. */
const struct pp_module_table *pp_modules_draft(void);
/* Publishes the rows of functions that were met, if any were. Refreshes the list before: rows of a module that has been
 * replaced are dropped. Returns whether the list had changed. */
bool pp_modules_publish(void);

/* Returns the module whose code holds the address, NULL if none. Valid until the next refresh. */
struct pp_module *pp_module_find(uintptr_t address);

/* Whether a module that was loaded before this time may be missing: the last reading had begun by then. */
bool pp_modules_may_lack(struct pp_module_time time);

/* Whether nothing was unloaded between the last reading before this time and the last one of all: then the modules of
 * the list are those that were there. */
bool pp_modules_hold_for(struct pp_module_time time);

/* Calls each for all known modules. */
void pp_modules_each(void (*each)(struct pp_module *module, void *arg), void *arg);

/* Returns the name of the function that holds the address, from .symtab or else .dynsym of the module's file (if its
 * build-id matches; the vDSO's from memory). NULL when unknown. *start: the function's address. The string is valid
 * until the next call for the module. */
const char *pp_module_symbol(struct pp_module *module, uintptr_t address, uintptr_t *start);

/* Closes the files that are kept open, of all modules (NULL) or of one: before the thread sleeps or ends, and before
 * the profile is written. */
void pp_modules_close_files(const struct pp_module *module);

/* Gives back memory that only the meeting of functions takes, once some calls in a row have found none met: two
 * at first. */
void pp_modules_rest(void);

/* Returns the address of the module's __jit_debug_descriptor (gdb_jit.h), exported or not; 0: none. The first call for
 * a module reads its symbol tables. */
uintptr_t pp_module_jit_descriptor(struct pp_module *module);

/* Finds where threads have a word that the module exports as a thread-local variable; false if it exports none of that
 * name. */
bool pp_module_tls_word(const struct pp_module *module, const char *name, struct pp_tls_word *word);

/* Finds the range of the function (FDE) that holds the address by .eh_frame. A .cold part is a range of its own. The
 * function counts as met. */
bool pp_module_function_range(const struct pp_module *module, uintptr_t address, uintptr_t *start, uintptr_t *end);

/* Unmaps replaced tables if no handler can still use them: quiescent() says that every handler that ran when it was
 * called has ended. */
void pp_modules_reclaim(bool (*quiescent)(void));

/* Runs in the child of fork, before anything else here: the published table stays in use, what was not published is
 * forgotten (its memory leaks). */
void pp_modules_after_fork(void);

#endif
