/* SPDX-License-Identifier: Apache-2.0 */
/* Declares the checks of `pyprof doctor`; each adds its findings to *findings. */
#ifndef PT_DOCTOR_CHECKS_H
#define PT_DOCTOR_CHECKS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "../cli/options.h"
#include "findings.h"
#include "process_info.h"

/* What of a program file decides whether a library can be preloaded into it. */
struct pt_elf_facts {
    int class, machine;         /* ELFCLASS*, EM_* */
    char interpreter[PATH_MAX]; /* the loader; "" for static programs and libraries */
    bool python;                /* it holds an interpreter */
    uint32_t python_version;    /* PY_VERSION_HEX; 0: it does not say (before 3.11) */
    bool python_debug;
    char sanitizer[64]; /* AddressSanitizer's library, if it needs that; else "" */
};

/* Runs all checks of a running process. Returns false if it is not sampled because it has no Python. */
bool pt_check_process(const struct pt_process_info *subject, struct pt_findings *findings);

/* Adds a failure if the name of an interpreter's file says that it is too old, and returns false. */
bool pt_check_python_name(const char *path, struct pt_findings *findings);

/* Returns whether this user cannot see what is loaded in the process, nor its environment. */
bool pt_is_unseen(const struct pt_process_info *subject);
/* Checks whether the library is in the process, and if not, why. Returns PT_LEVEL_WARN if that cannot be seen. */
enum pt_level pt_check_library(const struct pt_process_info *subject, struct pt_findings *findings);
/* Returns whether the loader of a program of this kind would take the library at this path of the subject's root. */
bool pt_check_loadable(const struct pt_process_info *subject, const char *library, const struct pt_elf_facts *program,
                       struct pt_findings *findings);
/* Returns the entry of LD_PRELOAD that is this library; NULL if there is none. The caller frees. */
char *pt_preload_entry(const char *value);

/* Returns whether the control file of its directory, or PYPROF_START, has the process take no samples, and it obeys. */
bool pt_is_paused(const struct pt_process_info *subject);
/* Sets what ends that as the remedy: the order for all of its directory, if that is paused; else for it alone. */
void pt_remedy_pause(const struct pt_process_info *subject, struct pt_findings *findings);
/* Checks our thread, timers, signal and limits in the process. */
void pt_check_sampling(const struct pt_process_info *subject, struct pt_findings *findings);
/* Adds a finding of this level if few more timers can be made. */
void pt_check_limit(const struct pt_process_info *subject, enum pt_level level, struct pt_findings *findings);

/* Checks the PYPROF_ variables of its environment. */
void pt_check_settings(const struct pt_process_info *subject, struct pt_findings *findings);
#define PT_REMEDY_OF_CLOCK                                                                                             \
    "sysctl kernel.perf_event_paranoid=2; in a container --cap-add PERFMON, or have its seccomp profile permit "       \
    "perf_event_open"
/* Returns the signal that its settings choose. */
int pt_setting_signal(const struct pt_process_info *subject);

/* Check where its profile goes and whether that can be written, and what it has written. */
void pt_check_output(const struct pt_process_info *subject, struct pt_findings *findings);
void pt_check_log(const struct pt_process_info *subject, struct pt_findings *findings);
/* Return directories in the root of the process: PYPROF_OUT, and where files go if that cannot be used. The caller
 * frees. */
char *pt_output_directory(const struct pt_process_info *subject);
char *pt_output_fallback(const struct pt_process_info *subject);
/* Returns 0 if this user can write files in the directory (an absolute path), or make it; otherwise errno. */
int pt_output_error(const char *directory);

/* Checks what the kernel permits on this machine. */
void pt_check_machine(const struct pt_process_info *subject, struct pt_findings *findings);
/* Returns the path at which execvp finds the command; NULL with errno. The caller frees. */
char *pt_command_path(const char *command);
/* Checks a command before it is run; its arguments end with NULL. */
void pt_check_command(const struct pt_process_info *subject, char *const *arguments, struct pt_findings *findings);
/* Checks the latest run in the default directory. */
void pt_check_latest(const struct pt_cli *cli, struct pt_findings *findings);

/* Returns false when it cannot be read (errno) or is no ELF file (errno 0). */
bool pt_elf_facts_read(const char *path, struct pt_elf_facts *facts);

/* "64-bit x86-64"; a static string. */
const char *pt_elf_kind(const struct pt_elf_facts *facts);

#endif
