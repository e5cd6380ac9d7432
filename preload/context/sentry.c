/* SPDX-License-Identifier: Apache-2.0 */
#include "../capture/safe_read.h"
#include "names.h"
#include "sources.h"
#include "values.h"

#define TRACE_DIGITS 32
#define SPAN_DIGITS  16

bool pp_sentry_find(const struct pp_object_reader *reader, const uintptr_t *modules, struct pp_sentry_facts *facts,
                    const char **why)
{
    uintptr_t variable, scope, span, transaction;
    *why = "its scopes and spans are not those of 2.x";
    return pp_name_find(reader, modules[PP_MODULE_SENTRY], "_current_scope", &variable) &&
           pp_name_find(reader, modules[PP_MODULE_SENTRY], "Scope", &scope) &&
           pp_name_find(reader, modules[PP_MODULE_SENTRY_SPAN], "Span", &span) &&
           pp_name_find(reader, modules[PP_MODULE_SENTRY_SPAN], "Transaction", &transaction) &&
           pp_member_find(reader, scope, "_span", &facts->span) &&
           pp_member_find(reader, span, "_trace_id", &facts->trace_id) &&
           pp_member_find(reader, span, "_span_id", &facts->span_id) &&
           pp_member_find(reader, span, "description", &facts->description) &&
           pp_member_find(reader, span, "op", &facts->operation) &&
           pp_member_find(reader, transaction, "name", &facts->transaction_name) &&
           pp_context_var_find(reader, variable, &facts->variable);
}

/* Reads a number of so many hexadecimal digits, the lower 64 bits first; 0 if it is not made yet. async-signal-safe. */
static void read_id(const struct pp_object_reader *reader, uintptr_t span, const struct pp_member *slot,
                    uint32_t digits, uint64_t id[2])
{
    struct pp_str text;
    uintptr_t object;
    uint8_t characters[TRACE_DIGITS];
    id[0] = id[1] = 0;
    if (!pp_member_read(reader, span, slot, &object) || !pp_str_open(reader, object, TRACE_DIGITS, &text) ||
        text.record.width != 1 || text.record.bytes != digits || !pp_object_copy(reader, characters, text.data, digits))
        return;
    for (uint32_t i = 0; i < digits; i++) {
        uint8_t c = characters[i];
        id[1] = id[1] << 4 | id[0] >> 60;
        id[0] = id[0] << 4 | (uint64_t)(c >= 'a' ? c - 'a' + 10 : c - '0');
    }
}

/* Reads what a span does: a transaction's name, another span's description, or its kind. async-signal-safe. */
static void read_name(const struct pp_object_reader *reader, const struct pp_sentry_facts *facts, uintptr_t span,
                      struct pp_str *text)
{
    const struct pp_member *const names[] = {&facts->transaction_name, &facts->description, &facts->operation};
    uintptr_t name;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (pp_member_read(reader, span, names[i], &name) && pp_str_open(reader, name, PP_CONTEXT_TEXT_MAX, text) &&
            text->record.bytes)
            return;
}

bool pp_sentry_read(const struct pp_context_reader *reader, uintptr_t vars, struct pp_context *context)
{
    const struct pp_object_reader *objects = &reader->objects;
    const struct pp_sentry_facts *facts = &reader->facts->sentry;
    uintptr_t scope, span;
    uint64_t own[2];
    if (!pp_context_var_read(objects, vars, &facts->variable, &scope) ||
        (scope && pp_object_is(objects, scope, facts->span.type) &&
         !pp_member_read(objects, scope, &facts->span, &span)))
        return false;
    if (!scope || !pp_object_is(objects, scope, facts->span.type) || !pp_object_is(objects, span, facts->trace_id.type))
        return true;
    read_id(objects, span, &facts->trace_id, TRACE_DIGITS, context->trace_id);
    read_id(objects, span, &facts->span_id, SPAN_DIGITS, own);
    context->no_id = !own[0];
    context->identity = own[0] ? own[0] : span;
    if (!reader->trace_only)
        read_name(objects, facts, span, &context->text);
    return true;
}
