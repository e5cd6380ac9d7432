/* The parts of `pyprof doctor`: each adds what it finds. */
#ifndef PT_DOCTOR_CHECKS_H
#define PT_DOCTOR_CHECKS_H

#include <sys/types.h>

#include "../cli/options.h"
#include "elf_facts.h"
#include "findings.h"
#include "process_info.h"

/* A running process, all that belongs to it. False when nothing of it is sampled because it has no Python. */
bool pt_check_process(const struct pt_process_info *subject, struct pt_findings *findings);

/* Whether the library is in the process, and if not, why. PT_LEVEL_WARN: it cannot be seen. */
enum pt_level pt_check_library(const struct pt_process_info *subject, struct pt_findings *findings);
/* Whether the loader of a program of this kind would take the library at this path of the subject's root. */
bool pt_check_loadable(const struct pt_process_info *subject, const char *library, const struct pt_elf_facts *program,
                       struct pt_findings *findings);
/* The entry of LD_PRELOAD that is this library; NULL when there is none. The caller frees. */
char *pt_preload_entry(const char *value);

/* Our thread, timers, signal, limits. */
void pt_check_sampling(const struct pt_process_info *subject, struct pt_findings *findings);
/* Whether few timers can be made any more. */
void pt_check_limit(const struct pt_process_info *subject, enum pt_level level, struct pt_findings *findings);

/* PYPROF_* of its environment. */
void pt_check_settings(const struct pt_process_info *subject, struct pt_findings *findings);
/* The signal that its timers use if nothing is wrong. */
int pt_setting_signal(const struct pt_process_info *subject);

/* Where its profile goes and whether that can be written; what it has written. */
void pt_check_output(const struct pt_process_info *subject, struct pt_findings *findings);
void pt_check_log(const struct pt_process_info *subject, struct pt_findings *findings);
/* Directories in the subject's root: PYPROF_OUT, and where files go when that cannot be used. The caller frees. */
char *pt_output_directory(const struct pt_process_info *subject);
char *pt_output_fallback(const struct pt_process_info *subject);

/* What the kernel permits here. */
void pt_check_machine(const struct pt_process_info *subject, struct pt_findings *findings);
/* A command before it is run. */
void pt_check_command(const struct pt_process_info *subject, const char *command, struct pt_findings *findings);
/* The latest run of the default directory. */
void pt_check_latest(const struct pt_cli *cli, struct pt_findings *findings);

#endif
