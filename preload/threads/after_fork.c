/* SPDX-License-Identifier: Apache-2.0 */
#include "after_fork.h"
#include "../capture/slot_memory.h"
#include "perf_clock.h"
#include "reasons.h"
#include "registry.h"
#include "scan.h"
#include "signal.h"

void pp_threads_after_fork(void)
{
    pp_registry_after_fork();
    for (unsigned i = 0; i < PP_REASON_COUNT; i++)
        atomic_store(&pp_thread_reasons[i], 0);
    pp_slot_memory_after_fork();
    pp_timers_after_fork();
    pp_events_after_fork();
    pp_thread_scan_after_fork();
    pp_signal_after_fork();
}
