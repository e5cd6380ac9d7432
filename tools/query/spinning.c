/* SPDX-License-Identifier: Apache-2.0 */
#include "spinning.h"

#include <string.h>

#include "../model/model.h"

/* Lists how the names of functions that spin begin. */
static const struct spinner {
    const char *function, *advice;
} spinners[] = {
    {"blas_thread_server", "OPENBLAS_NUM_THREADS=1"},
    {"exec_blas_async_wait", "OPENBLAS_NUM_THREADS=1"},
    {"gomp_barrier_wait", "OMP_WAIT_POLICY=passive"},
    {"gomp_team_barrier_wait", "OMP_WAIT_POLICY=passive"},
    {"gomp_simple_barrier_wait", "OMP_WAIT_POLICY=passive"},
    {"gomp_thread_start", "OMP_WAIT_POLICY=passive"},
    {"__kmp_hyper_barrier_release", "KMP_BLOCKTIME=0"},
    {"__kmp_wait_", "KMP_BLOCKTIME=0"},
    {"kmp_flag_", "KMP_BLOCKTIME=0"},
};
#define SPINNERS (sizeof spinners / sizeof spinners[0])

/* Returns the spinner + 1 in which a stack with this leaf waits, 0 if it does something else. */
static size_t spinner_of(const struct pt_profile *profile, uint32_t node)
{
    for (; node; node = profile->nodes.items[node].parent) {
        const struct pt_frame *frame = &profile->frames.items[profile->nodes.items[node].frame];
        const char *name = frame->kind == PP_FRAME_NATIVE ? pt_string(profile, frame->symbol) : "";
        for (size_t i = 0; *name && i < SPINNERS; i++)
            if (strncmp(name, spinners[i].function, strlen(spinners[i].function)) == 0)
                return i + 1;
        if (!strstr(name, "sched_yield") && !frame->inlined_into)
            return 0;
    }
    return 0;
}

struct pt_spinning pt_spinning_of(const struct pt_profile *profile)
{
    uint64_t ns[SPINNERS + 1] = {0};
    size_t most = 1;
    struct pt_spinning spinning = {0};
    for (uint32_t i = 0; i < profile->samples.count; i++)
        ns[spinner_of(profile, profile->samples.items[i].node)] += profile->samples.items[i].cpu_ns;
    for (size_t i = 1; i <= SPINNERS; i++) {
        spinning.ns += ns[i];
        most = ns[i] > ns[most] ? i : most;
    }
    spinning.function = spinners[most - 1].function;
    spinning.advice = spinners[most - 1].advice;
    return spinning;
}
