/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PP_THREADS_REASONS_H
#define PP_THREADS_REASONS_H

#include "../capture/record.h"
#include <stdatomic.h>
#include <stdint.h>

/* Counts the events of enum pp_reason outside handlers (timers refused, no slot). */
extern _Atomic uint64_t pp_thread_reasons[PP_REASON_COUNT];

#endif
