/* SPDX-License-Identifier: Apache-2.0 */
/* The variables of a context are in a hash array mapped trie (Python/hamt.c). Its nodes never change once they are in a
 * context, and a thread's context has a new trie before it drops the old one. */
#include "context_vars.h"
#include "../capture/safe_read.h"
#include "values.h"

#define LEVEL_BITS     5
#define HASH_BITS      32
#define COLLISIONS_MAX 16

struct pair {
    uintptr_t key, value;
};

/* Beginnings of the types' names, "hamt_bitmap_node" … */
#define NODE_KIND_BITMAP    "hamt_bit"
#define NODE_KIND_BRANCHES  "hamt_arr"
#define NODE_KIND_COLLISION "hamt_col"
#define NODE_KIND_LENGTH    8

bool pp_context_var_find(const struct pp_object_reader *reader, uintptr_t object, struct pp_context_var *var)
{
    uintptr_t type, hash;
    *var = (struct pp_context_var){0, 0};
    if (!pp_object_type(reader, object, &type) || type != reader->python->context_variable_type ||
        !pp_object_word(reader, object + reader->python->layout.contextvars.var_hash, &hash))
        return false;
    var->address = object;
    var->hash = (uint32_t)hash ^ (uint32_t)(hash >> HASH_BITS);
    if (var->hash == UINT32_MAX)
        var->hash--;
    return true;
}

bool pp_context_vars_open(const struct pp_object_reader *reader, const void *thread_state, bool *checked,
                          uintptr_t *vars)
{
    /* Not all patch releases were checked: what is no context is found out by a copy, which cannot fault. */
    struct pp_object_reader careful = *reader;
    uintptr_t type, py_context = pp_word(thread_state, reader->python->layout.thread_state.context);
    *vars = 0;
    if (!py_context)
        return true;
    careful.direct = reader->direct && *checked;
    if (!pp_object_type(&careful, py_context, &type) || !type || type != reader->python->context_type)
        return false;
    *checked = true;
    return pp_object_word(reader, py_context + reader->python->layout.contextvars.ctx_vars, vars) &&
           pp_plausible(*vars);
}

bool pp_context_vars_of(const struct pp_object_reader *reader, uintptr_t py_context, uintptr_t *vars)
{
    uintptr_t type;
    return pp_object_type(reader, py_context, &type) && type == reader->python->context_type &&
           pp_object_word(reader, py_context + reader->python->layout.contextvars.ctx_vars, vars) &&
           pp_plausible(*vars);
}

/* Returns the number of bits that are set. The compiler's own function is not to be called here. async-signal-safe. */
static unsigned count_bits(uint32_t bits)
{
    bits -= bits >> 1 & 0x55555555;
    bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333);
    bits = (bits + (bits >> 4)) & 0x0f0f0f0f;
    return bits * 0x01010101 >> 24;
}

/* Reads the pair of a bitmap node that is for this part of the hash, {0, 0} if there is none. async-signal-safe. */
static bool read_bitmap(const struct pp_object_reader *reader, uintptr_t node, uint32_t part, struct pair *pair)
{
    uint32_t bitmap, bit = (uint32_t)1 << part;
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t array = node + layout->contextvars.b_array;
    if (!pp_object_copy(reader, &bitmap, node + layout->contextvars.b_bitmap, sizeof bitmap))
        return false;
    return !(bitmap & bit) ||
           pp_object_copy(reader, pair, array + count_bits(bitmap & (bit - 1)) * sizeof *pair, sizeof *pair);
}

/* Finds the key's pair among those whose hashes are equal. async-signal-safe. */
static bool read_collision(const struct pp_object_reader *reader, uintptr_t node, uintptr_t key, struct pair *pair)
{
    struct pair found;
    uintptr_t words, array = node + reader->python->layout.contextvars.b_array;
    if (!pp_object_word(reader, node + reader->python->layout.ob_size, &words))
        return false;
    for (uintptr_t i = 0; i < words / 2 && i < COLLISIONS_MAX; i++) {
        if (!pp_object_copy(reader, &found, array + i * sizeof found, sizeof found))
            return false;
        if (found.key == key)
            *pair = found;
    }
    return true;
}

/* Reads what a node has for the key: {key, value}, {0, next node} or {0, 0}. async-signal-safe. */
static bool read_node(const struct pp_object_reader *reader, uintptr_t node, const struct pp_context_var *var,
                      unsigned shift, struct pair *pair)
{
    uintptr_t type, name;
    char kind[NODE_KIND_LENGTH];
    uint32_t part = shift < HASH_BITS ? var->hash >> shift & ((1u << LEVEL_BITS) - 1) : 0;
    *pair = (struct pair){0, 0};
    if (!pp_object_type(reader, node, &type) ||
        !pp_object_word(reader, type + reader->python->layout.type.tp_name, &name) ||
        !pp_object_copy(reader, kind, name, sizeof kind))
        return false;
    if (memcmp(kind, NODE_KIND_BITMAP, sizeof kind) == 0)
        return read_bitmap(reader, node, part, pair);
    if (memcmp(kind, NODE_KIND_BRANCHES, sizeof kind) == 0)
        return pp_object_word(reader, node + reader->python->layout.contextvars.a_array + part * sizeof node,
                              &pair->value);
    return memcmp(kind, NODE_KIND_COLLISION, sizeof kind) == 0 && read_collision(reader, node, var->address, pair);
}

bool pp_context_var_read(const struct pp_object_reader *reader, uintptr_t vars, const struct pp_context_var *var,
                         uintptr_t *value)
{
    uintptr_t node;
    struct pair pair;
    *value = 0;
    if (!vars || !var->address)
        return true;
    if (!pp_object_word(reader, vars + reader->python->layout.contextvars.h_root, &node))
        return false;
    /* the last level has the collisions */
    for (unsigned shift = 0; shift < HASH_BITS + 2 * LEVEL_BITS; shift += LEVEL_BITS) {
        if (!read_node(reader, node, var, shift, &pair))
            return false;
        if (pair.key || !pair.value) {
            *value = pair.key == var->address ? pair.value : 0;
            return true;
        }
        node = pair.value;
    }
    return false;
}
