/* Code of a JIT's, in a list for debuggers that a reader must not follow to its end: the first object says that it is
 * at the highest addresses, the next one has the code, and then come always more without any. */
#include "jit_object.h"
#include <sys/mman.h>

struct {
    uint32_t version, action;
    struct jit_entry *relevant, *first;
} __jit_debug_descriptor = {.version = 1};

#define COUNT 100000
static struct jit_entry entries[COUNT];
static struct jit_object objects[2];

/* Runs code that was made for it; count: turns of its loop. */
void run(unsigned count)
{
    static const uint8_t code[] = {0xff, 0xcf, 0x75, 0xfc, 0xc3}; /* loop: dec edi; jnz loop; ret */
    static void (*made)(unsigned count);
    if (!made) {
        void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memcpy(page, code, sizeof code);
        make_jit_object(&objects[0], UINT64_MAX - 0xff, 0x80, 0xff, 0x80, "nowhere");
        make_jit_object(&objects[1], (uintptr_t)page, sizeof code, 0, sizeof code, "made_here");
        for (unsigned i = 0; i < COUNT; i++) {
            entries[i].next = &entries[(i + 1) % COUNT];
            entries[i].previous = i ? &entries[i - 1] : NULL;
            entries[i].image = &objects[i & 1];
            entries[i].size = i < 2 ? sizeof objects[i] : 0;
        }
        __jit_debug_descriptor.first = entries;
        memcpy(&made, &page, sizeof made);
    }
    made(count);
}
