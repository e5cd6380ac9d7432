#include "plain.h"
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHIM_OWNER 3 /* and above: FRAME_OWNED_BY_CSTACK, _BY_INTERPRETER */
#define NAME_MAX   128
#define FILE_MAX   512
#define CACHE      4096

struct offsets {
    uint8_t minor;
    bool free_threaded;
    uint8_t top, cframe;                      /* thread state -> (cframe ->) frame; cframe 0xff: none */
    uint8_t frame_code, frame_back, owner;    /* owner 0: none */
    uint8_t type, first_line, filename, name; /* of code objects */
    uint8_t text_state, text_data;
};

static const struct offsets table[] = {
    {8, false, 24, 0xff, 32, 24, 0, 8, 40, 104, 112, 32, 48},  {9, false, 24, 0xff, 32, 24, 0, 8, 40, 104, 112, 32, 48},
    {10, false, 24, 0xff, 32, 24, 0, 8, 40, 104, 112, 32, 48}, {11, false, 56, 8, 32, 48, 69, 8, 72, 112, 120, 32, 48},
    {12, false, 56, 0, 0, 8, 70, 8, 68, 112, 120, 32, 40},     {13, false, 72, 0xff, 0, 8, 70, 8, 68, 112, 120, 32, 40},
    {13, true, 72, 0xff, 0, 8, 70, 24, 84, 128, 136, 48, 56},  {14, false, 72, 0xff, 0, 8, 74, 8, 68, 112, 120, 32, 40},
    {15, false, 72, 0xff, 0, 8, 74, 8, 68, 112, 120, 32, 40},
};
static const struct offsets *offsets;
static uintptr_t type_of_code;

static sigjmp_buf guard;
static volatile sig_atomic_t guarded;

/* code address, name and its first characters, file, first line -> what it is */
static struct known {
    uintptr_t address, name, characters[2], file, first_line;
    const struct truth_code *code;
} cache[CACHE];

static void on_fault(int number)
{
    if (guarded)
        siglongjmp(guard, 1);
    signal(number, SIG_DFL); /* somebody else's: it happens again when we return */
}

bool plain_start(unsigned minor, bool free_threaded, uintptr_t code_type)
{
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].minor == minor && table[i].free_threaded == free_threaded)
            offsets = &table[i];
    type_of_code = code_type;
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
    return offsets && sigaction(SIGSEGV, &action, NULL) == 0 && sigaction(SIGBUS, &action, NULL) == 0;
}

static uintptr_t word(uintptr_t address)
{
    uintptr_t value;
    memcpy(&value, (const void *)address, sizeof value);
    return value;
}

static uint32_t u32(uintptr_t address)
{
    uint32_t value;
    memcpy(&value, (const void *)address, sizeof value);
    return value;
}

/* Names and files of the workload are ASCII; anything else becomes "". */
static void read_text(uintptr_t text, char *to, size_t size)
{
    uintptr_t length = word(text + offsets->text_state - 16);
    bool ascii = u32(text + offsets->text_state) & 0x40;
    *to = 0;
    if (!ascii || length >= size)
        return;
    memcpy(to, (const void *)(text + offsets->text_data), length);
    to[length] = 0;
}

/* May fault. */
static const struct truth_code *code_at(uintptr_t address)
{
    struct known now = {.address = address,
                        .name = word(address + offsets->name),
                        .file = word(address + offsets->filename),
                        .first_line = u32(address + offsets->first_line)};
    now.characters[0] = word(now.name + offsets->text_data);
    now.characters[1] = word(now.name + offsets->text_data + 8);
    struct known *known = &cache[(address >> 4) % CACHE];
    if (memcmp(known, &now, offsetof(struct known, code)) == 0)
        return known->code;
    char name[NAME_MAX], file[FILE_MAX];
    read_text(now.name, name, sizeof name);
    read_text(now.file, file, sizeof file);
    now.code = truth_find(name, file, (uint32_t)now.first_line);
    *known = now;
    return now.code;
}

static int walk(uintptr_t state, struct truth_frame *frames, unsigned max)
{
    unsigned count = 0, steps = 0;
    uintptr_t frame = word(state + offsets->top);
    if (offsets->cframe != 0xff)
        frame = word(frame + offsets->cframe);
    for (; frame; frame = word(frame + offsets->frame_back)) {
        if (steps++ == max)
            return -1;
        if (offsets->owner && *(const uint8_t *)(frame + offsets->owner) >= SHIM_OWNER)
            continue;
        uintptr_t code = word(frame + offsets->frame_code) & ~(uintptr_t)3;
        if (word(code + offsets->type) != type_of_code)
            return -1;
        frames[count++] = (struct truth_frame){code_at(code), 0, true};
    }
    for (unsigned i = 0; i < count / 2; i++) {
        struct truth_frame other = frames[i];
        frames[i] = frames[count - 1 - i];
        frames[count - 1 - i] = other;
    }
    return (int)count;
}

int plain_walk(uintptr_t thread_state, struct truth_frame *frames, unsigned max)
{
    if (sigsetjmp(guard, 0)) {
        guarded = 0;
        return -1;
    }
    guarded = 1;
    int count = walk(thread_state, frames, max);
    guarded = 0;
    return count;
}
