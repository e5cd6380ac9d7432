/* SPDX-License-Identifier: Apache-2.0 */
/* CPython 3.12 and later keep the attached thread state in a thread-local variable without an exported symbol, 3.15 the
 * bound one too, but export functions that return them. Their code is a handful of instructions, which this file
 * follows for the one register that matters. The forms are those of U. Drepper, "ELF Handling For Thread-Local
 * Storage", and of the x86-64 psABI, chapter "TLS" (with those that linkers relax them to).
 *
 * A word at a constant distance from the thread pointer exists in every thread, whenever the object was loaded: that
 * code needs static TLS, and the loader refuses an object for which it has no room. Code that calls __tls_get_addr
 * promises nothing of the kind, so its word is found through the DTV, where that function records its blocks. */
#include "tls.h"
#include <string.h>

/* What rax holds. */
enum holding {
    UNKNOWN,
    THREAD_OFFSET,  /* number: distance from the thread pointer */
    THREAD_ADDRESS, /* thread pointer + number */
    BLOCK_OFFSET,   /* distance from the thread pointer to the object's block, + number */
    BLOCK_ADDRESS,  /* the object's block + number */
    DESCRIPTOR,     /* number: address of a TLS descriptor {function, argument} */
    THE_WORD,       /* decoder.found */
};

struct decoder {
    const struct pp_tls_object *object;
    const uint8_t *at, *end;
    enum holding holding;
    int64_t number;
    uintptr_t index; /* rdi: address of a tls_index {module, offset}, 0 if unknown */
    struct pp_tls_word found;
};

static bool match(struct decoder *decoder, const char *bytes, size_t size)
{
    if ((size_t)(decoder->end - decoder->at) < size || memcmp(decoder->at, bytes, size) != 0)
        return false;
    decoder->at += size;
    return true;
}

#define NEXT(bytes) match(decoder, bytes, sizeof(bytes) - 1)

static bool read_byte(struct decoder *decoder, int64_t *number)
{
    if (decoder->at == decoder->end)
        return false;
    *number = (int8_t)*decoder->at++;
    return true;
}

static bool read_number(struct decoder *decoder, int64_t *number)
{
    int32_t value;
    if (decoder->end - decoder->at < (ptrdiff_t)sizeof value)
        return false;
    memcpy(&value, decoder->at, sizeof value);
    decoder->at += sizeof value;
    *number = value;
    return true;
}

/* Decodes a rip-relative operand: relative to the end of the instruction, whose last part it is. */
static bool read_address(struct decoder *decoder, uintptr_t *address)
{
    int64_t distance;
    if (!read_number(decoder, &distance))
        return false;
    *address = (uintptr_t)decoder->at + (uintptr_t)distance;
    return true;
}

static bool read_bytes(const struct decoder *decoder, uintptr_t address, void *to, size_t size, bool in_object)
{
    return decoder->object->read(decoder->object->context, address, to, size, in_object);
}

static bool read_slot(struct decoder *decoder, int64_t *value)
{
    uintptr_t slot;
    return read_address(decoder, &slot) && read_bytes(decoder, slot, value, sizeof *value, true);
}

static bool set_rax(struct decoder *decoder, enum holding holding, int64_t number)
{
    decoder->holding = holding;
    decoder->number = number;
    return true;
}

/* Takes the offset of a tls_index. */
static bool accept_index(struct decoder *decoder, uintptr_t address, bool in_object, enum holding holding)
{
    int64_t offset;
    return pp_tls_index(decoder->object, address, in_object, &offset) && set_rax(decoder, holding, offset);
}

/* __tls_get_addr(rdi) */
static bool call_get_addr(struct decoder *decoder)
{
    uintptr_t index = decoder->index;
    decoder->index = 0;
    return index && accept_index(decoder, index, true, BLOCK_ADDRESS);
}

/* The descriptor's function has one argument: the distance itself for static TLS, else the address of glibc's struct
 * tlsdesc_dynamic_arg, which begins with a tls_index. */
static bool call_descriptor(struct decoder *decoder)
{
    uintptr_t descriptor = (uintptr_t)decoder->number;
    int64_t argument;
    if (decoder->holding != DESCRIPTOR || !read_bytes(decoder, descriptor + 8, &argument, sizeof argument, true))
        return false;
    if (pp_tls_is_static(argument))
        return set_rax(decoder, THREAD_OFFSET, argument);
    return accept_index(decoder, (uintptr_t)argument, false, BLOCK_OFFSET);
}

/* rax = word at rax + displacement, with or without an fs prefix. */
static bool load(struct decoder *decoder, bool from_fs, int64_t displacement)
{
    enum pp_tls_kind kind;
    if (decoder->holding == (from_fs ? THREAD_OFFSET : THREAD_ADDRESS))
        kind = PP_TLS_FIXED;
    else if (decoder->holding == (from_fs ? BLOCK_OFFSET : BLOCK_ADDRESS))
        kind = PP_TLS_DYNAMIC;
    else
        return false;
    decoder->found = (struct pp_tls_word){.kind = (uint8_t)kind,
                                          .module = kind == PP_TLS_DYNAMIC ? decoder->object->module : 0,
                                          .offset = decoder->number + displacement};
    return set_rax(decoder, THE_WORD, 0);
}

static bool add(struct decoder *decoder, int64_t number)
{
    return decoder->holding >= THREAD_OFFSET && decoder->holding <= BLOCK_ADDRESS &&
           set_rax(decoder, decoder->holding, decoder->number + number);
}

/* Follows one instruction; false if it does not belong in a getter. */
static bool step(struct decoder *decoder)
{
    int64_t number = 0;
    uintptr_t address;
    /* endbr64; push rbp, rbx, rax; mov %rsp,%rbp; pop rbp, rbx, rcx; leave; nop */
    if (NEXT("\xf3\x0f\x1e\xfa") || NEXT("\x55") || NEXT("\x53") || NEXT("\x50") || NEXT("\x48\x89\xe5") ||
        NEXT("\x5d") || NEXT("\x5b") || NEXT("\x59") || NEXT("\xc9") || NEXT("\x90") || NEXT("\x66"))
        return true;                                  /* 66: padding of the forms that linkers may have to rewrite */
    if (NEXT("\x48\x83\xec") || NEXT("\x48\x83\xc4")) /* sub, add $n,%rsp */
        return read_byte(decoder, &number);

    if (NEXT("\x64\x48\x8b\x04\x25")) { /* mov %fs:n,%rax; the word at 0 is the thread pointer */
        if (!read_number(decoder, &number))
            return false;
        if (number == 0)
            return set_rax(decoder, THREAD_ADDRESS, 0);
        return set_rax(decoder, THREAD_OFFSET, number) && load(decoder, true, 0);
    }
    if (NEXT("\x64\x48\x8b\x00")) /* mov %fs:(%rax),%rax */
        return load(decoder, true, 0);
    if (NEXT("\x64\x48\x8b\x40"))
        return read_byte(decoder, &number) && load(decoder, true, number);
    if (NEXT("\x64\x48\x8b\x80"))
        return read_number(decoder, &number) && load(decoder, true, number);
    if (NEXT("\x48\x8b\x00")) /* mov (%rax),%rax */
        return load(decoder, false, 0);
    if (NEXT("\x48\x8b\x40"))
        return read_byte(decoder, &number) && load(decoder, false, number);
    if (NEXT("\x48\x8b\x80"))
        return read_number(decoder, &number) && load(decoder, false, number);

    if (NEXT("\x48\x8b\x05")) /* mov slot(%rip),%rax */
        return read_slot(decoder, &number) && set_rax(decoder, THREAD_OFFSET, number);
    if (NEXT("\x48\xc7\xc0")) /* mov $n,%rax */
        return read_number(decoder, &number) && set_rax(decoder, THREAD_OFFSET, number);
    if (NEXT("\x48\x03\x05")) /* add slot(%rip),%rax */
        return read_slot(decoder, &number) && add(decoder, number);
    if (NEXT("\x48\x8d\x40")) /* lea n(%rax),%rax */
        return read_byte(decoder, &number) && add(decoder, number);
    if (NEXT("\x48\x8d\x80") || NEXT("\x48\x05") || NEXT("\x48\x81\xc0")) /* lea with 32 bits; add $n,%rax */
        return read_number(decoder, &number) && add(decoder, number);

    if (NEXT("\x48\x8d\x3d")) /* lea index(%rip),%rdi */
        return read_address(decoder, &decoder->index);
    if (NEXT("\xe8") || NEXT("\x48\xe8") || NEXT("\x67\xe8") || NEXT("\xff\x15") || NEXT("\x48\xff\x15")) /* call */
        return read_address(decoder, &address) && call_get_addr(decoder);
    if (NEXT("\x48\x8d\x05")) /* lea descriptor(%rip),%rax */
        return read_address(decoder, &address) && set_rax(decoder, DESCRIPTOR, (int64_t)address);
    if (NEXT("\xff\x10")) /* call *(%rax) */
        return call_descriptor(decoder);
    return false;
}

struct pp_tls_word pp_tls_of_code(const struct pp_tls_object *object, uintptr_t code, size_t size)
{
    struct decoder state = {.object = object, .at = (const uint8_t *)code, .end = (const uint8_t *)code + size};
    struct decoder *decoder = &state;
    while (!NEXT("\xc3") && !NEXT("\xf3\xc3")) /* ret */
        if (!step(decoder))
            return (struct pp_tls_word){0};
    return decoder->holding == THE_WORD ? decoder->found : (struct pp_tls_word){0};
}
