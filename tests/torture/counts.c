#include "counts.h"
#include "../../preload/capture/capture.h"
#include "places.h"
#include "torture.h"
#include <stdio.h>

struct torture_count torture_count;

static const char *const reason_names[] = {
#define X(name, text) #name,
    PP_REASONS(X)
#undef X
};

void torture_report(void)
{
    printf("steps=%llu", (unsigned long long)torture_count.steps);
#define FIELD(name) printf(" " #name "=%llu", (unsigned long long)torture_count.name)
    FIELD(samples);
    FIELD(right);
    FIELD(wrong);
    FIELD(refused);
    FIELD(refused_good);
    FIELD(torn);
    FIELD(recovered);
    FIELD(vanished);
    FIELD(native_whole);
    FIELD(exact);
    FIELD(surplus);
    FIELD(bad_pairing);
    FIELD(unpaired);
    FIELD(wrong_merge);
    FIELD(wrong_state);
    FIELD(collecting);
    FIELD(without_gil);
    FIELD(unwinding);
    FIELD(generated);
    FIELD(merged);
    FIELD(switching);
    FIELD(repeats);
#undef FIELD
    printf(" depth=%u runs=%u native=%u eval_ranges=%u\n", torture_count.depth, torture_count.runs,
           torture_count.native, atomic_load(&pp_capture.eval_range_count));
    for (unsigned i = 1; i < PP_REASON_COUNT; i++) {
        if (torture_count.reasons[i])
            printf("# python: %s %llu\n", reason_names[i], (unsigned long long)torture_count.reasons[i]);
        if (torture_count.native_reasons[i])
            printf("# native: %s %llu\n", reason_names[i], (unsigned long long)torture_count.native_reasons[i]);
    }
    for (uint32_t i = 0; i < atomic_load(&pp_capture.eval_range_count); i++) {
        printf("# eval range of %lu bytes: ",
               (unsigned long)(pp_capture.eval_ranges[i].end - pp_capture.eval_ranges[i].start));
        places_print_address(stdout, pp_capture.eval_ranges[i].start);
        printf("\n");
    }
    places_print();
    fflush(stdout);
}
