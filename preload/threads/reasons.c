/* SPDX-License-Identifier: Apache-2.0 */
#include "reasons.h"

_Atomic uint64_t pp_thread_reasons[PP_REASON_COUNT];
