/* What a torture run has met: torture.c counts, torture_report prints. */
#ifndef TORTURE_COUNTS_H
#define TORTURE_COUNTS_H

#include "../../preload/capture/record.h"
#include <stdint.h>

extern struct torture_count {
    uint64_t steps, repeats, samples;
    uint64_t right, wrong, refused;
    uint64_t torn, recovered, refused_good, vanished;
    uint64_t native_whole, exact, surplus, bad_pairing, unpaired, wrong_merge, merged, unwinding;
    uint64_t generated; /* in code outside every module: a JIT's */
    uint64_t wrong_state, collecting, without_gil;
    uint64_t switching; /* between greenlets */
    uint64_t reasons[PP_REASON_COUNT], native_reasons[PP_REASON_COUNT];
    unsigned depth, runs, native;
} torture_count;

#endif
