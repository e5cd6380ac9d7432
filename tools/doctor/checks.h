/* The parts of `pyprof doctor`: each adds what it finds. */
#ifndef PP_DOCTOR_CHECKS_H
#define PP_DOCTOR_CHECKS_H

#include <sys/types.h>

#include "../cli.h"
#include "elf_facts.h"
#include "findings.h"
#include "subject.h"

/* A running process, all that belongs to it. False when nothing of it is sampled because it has no Python. */
bool pp_check_process(const struct pp_subject *subject, struct pp_findings *findings);

/* Whether the library is in the process, and if not, why. PP_LEVEL_WARN: it cannot be seen. */
enum pp_level pp_check_library(const struct pp_subject *subject, struct pp_findings *findings);
/* Whether the loader of a program of this kind would take the library at this path of the subject's root. */
bool pp_check_loadable(const struct pp_subject *subject, const char *library, const struct pp_elf_facts *program,
                       struct pp_findings *findings);
/* The entry of LD_PRELOAD that is this library; NULL when there is none. The caller frees. */
char *pp_preload_entry(const char *value);

/* Our thread, timers, signal, limits. */
void pp_check_sampling(const struct pp_subject *subject, struct pp_findings *findings);

/* PYPROF_* of its environment. */
void pp_check_settings(const struct pp_subject *subject, struct pp_findings *findings);
/* The signal that its timers use if nothing is wrong. */
int pp_setting_signal(const struct pp_subject *subject);

/* Where its profile goes and whether that can be written; what it has written. */
void pp_check_output(const struct pp_subject *subject, struct pp_findings *findings);
void pp_check_log(const struct pp_subject *subject, struct pp_findings *findings);
/* Directories in the subject's root: PYPROF_OUT, and where files go when that cannot be used. The caller frees. */
char *pp_output_directory(const struct pp_subject *subject);
char *pp_output_fallback(const struct pp_subject *subject);

/* What the kernel permits here. */
void pp_check_machine(const struct pp_subject *subject, struct pp_findings *findings);
/* A command before it is run. */
void pp_check_command(const struct pp_subject *subject, const char *command, struct pp_findings *findings);
/* The latest run of the default directory. */
void pp_check_latest(const struct pp_cli *cli, struct pp_findings *findings);

#endif
