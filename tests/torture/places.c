#include "places.h"
#include "../../preload/modules/modules.h"
#include <string.h>

#define PLACES 4096
#define SHOWN  12

static const char *const names[PLACE_KINDS] = {"torn and not recovered", "refused although good",
                                               "native stack truncated"};

/* By address and kind; count 0: free. */
static struct place_count {
    uintptr_t pc;
    enum place kind;
    uint64_t count;
} places[PLACES];

void places_count(enum place kind, uintptr_t pc)
{
    unsigned at = (unsigned)(pc * 31 + kind) % PLACES;
    for (unsigned tries = 0; tries < PLACES; tries++, at = (at + 1) % PLACES) {
        if (places[at].count == 0)
            places[at] = (struct place_count){pc, kind, 0};
        if (places[at].pc == pc && places[at].kind == kind) {
            places[at].count++;
            return;
        }
    }
}

void places_print_address(FILE *out, uintptr_t pc)
{
    struct pp_module *module = pp_module_find(pc);
    uintptr_t start = pc;
    const char *symbol = module ? pp_module_symbol(module, pc, &start) : NULL;
    const char *name = module ? strrchr(module->path, '/') : NULL;
    if (symbol)
        fprintf(out, "%s+0x%lx", symbol, (unsigned long)(pc - start));
    else
        fprintf(out, "0x%lx", (unsigned long)(module ? pc - module->bias : pc));
    fprintf(out, " (%s)", name ? name + 1 : "?");
}

static void print_kind(enum place kind)
{
    for (unsigned shown = 0; shown < SHOWN; shown++) {
        struct place_count *most = NULL;
        for (unsigned i = 0; i < PLACES; i++)
            if (places[i].count && places[i].kind == kind && (!most || places[i].count > most->count))
                most = &places[i];
        if (!most)
            return;
        printf("# %s: %llu at ", names[kind], (unsigned long long)most->count);
        places_print_address(stdout, most->pc);
        printf("\n");
        most->count = 0;
    }
}

void places_print(void)
{
    for (unsigned kind = 0; kind < PLACE_KINDS; kind++)
        print_kind(kind);
}
