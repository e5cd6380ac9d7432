/* Two libraries of one source. -DPUBLISHES: publishes a thread context (OTEP 4947) far into its block of thread-local
 * memory. Without: has a small block, which the loader gives the number of the first when that is unloaded, and uses
 * CPU. */
#include "cpu.h"

void publish(void);
void use_cpu(uint64_t ns);

#ifdef PUBLISHES
struct record {
    uint8_t trace_id[16], span_id[8], valid, flags, attribute_bytes[2];
};
#define PADDING (8 << 20)

__attribute__((visibility("default"))) _Thread_local char padding[PADDING] = {1};
__attribute__((visibility("default"))) _Thread_local struct record *otel_thread_ctx_v1;
static _Thread_local struct record own;

void publish(void)
{
    own.valid = own.trace_id[15] = own.span_id[7] = 1;
    padding[0] = padding[PADDING - 1] = 1;
    otel_thread_ctx_v1 = &own;
}
#else
static _Thread_local volatile long small[4];

void use_cpu(uint64_t ns)
{
    small[1] = 3;
    use_us(ns / 1000);
}
#endif
