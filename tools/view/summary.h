/* SPDX-License-Identifier: Apache-2.0 */
/* Derives figures, warnings and notes from the sums of a profile. */
#ifndef PT_VIEW_SUMMARY_H
#define PT_VIEW_SUMMARY_H

#include "../model/model.h"

/* Returns the accounting of one process, or of all (process == PT_NONE), with what is pending added to unsampled: the
 * sum that users see is sampled + unsampled + lost + own + thread exit + difference = cpu. */
struct pt_accounting pt_summary_accounting(const struct pt_profile *profile, uint32_t process);

/* Returns what shares are of in all views: the CPU time of the stacks that the profile holds. Without a selection, and
 * of logs without damage, it is the program's CPU time without what profiling cost: cpu - own - difference. */
uint64_t pt_summary_program_ns(const struct pt_profile *profile);

/* Returns what the kernel billed to the whole run at least: descendants that were not waited for are in no bill. 0: it
 * is not known, there are several runs, or the profile has more. */
uint64_t pt_summary_billed_ns(const struct pt_profile *profile);

/* Returns the CPU time of parts of the profile that were removed, which is in no sum; of one process or all (PT_NONE).
 */
uint64_t pt_summary_missing_ns(const struct pt_profile *profile, uint32_t process);

/* Appends that sum in a line, for exports; the parts in ns. After it, how much of the sampled part is an estimate, and
 * the CPU time of the stacks: what profiling cost, and what a selection leaves out, is not in these. */
void pt_summary_append_accounting(const struct pt_profile *profile, struct pt_buffer *line);

/* Returns whether what was sampled of it is all of pauses by PYPROF_START or `pyprof ctl`, in which there are no
 * samples.
 */
bool pt_summary_is_all_paused(const struct pt_accounting *sum);

/* Returns whether so much was sampled at the kernel's clock ticks alone, in threads that wait often, that shares can be
 * wrong by more than chance. */
bool pt_summary_is_uneven(const struct pt_profile *profile);

/* Calls each with every warning, a sentence without a full stop, for one process or for all (PT_NONE). */
void pt_summary_warnings(const struct pt_profile *profile, uint32_t process, void (*each)(void *data, const char *text),
                         void *data);

/* Calls each with every note of the library about one process, or all (PT_NONE), that is no reason to worry. */
void pt_summary_notes(const struct pt_profile *profile, uint32_t process, void (*each)(void *data, const char *text),
                      void *data);

/* Calls each with what is known of the sources of a process's contexts (PP_PROCESS_CONTEXTS): those that are read, in
 * one text, and each that is not, with the reason. */
void pt_summary_contexts(const struct pt_profile *profile, uint32_t process,
                         void (*each)(void *data, bool read, const char *text), void *data);

/* Returns how many processors a process may run on, the most of any; 0 if unknown, or if there are several hosts. */
uint64_t pt_summary_cpus(const struct pt_profile *profile);

/* Returns the process that started first, whose command line names the run; there must be a process. */
const struct pt_process *pt_summary_first_process(const struct pt_profile *profile);

/* Returns the Python versions of one process, or of all (PT_NONE), each once: strings. The caller frees. */
uint32_t *pt_summary_versions(struct pt_profile *profile, uint32_t process, uint32_t *count);

/* Returns part as a percentage of whole, 0 when whole is 0. */
double pt_percent(uint64_t part, uint64_t whole);

#endif
