/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenTelemetry's profiles signal, ProfilesData of opentelemetry-proto v1.11.0 (package profiles.v1development: alpha,
 * it may change). The same bytes are an ExportProfilesServiceRequest. A profile has one type of value there, so each
 * process has two: samples/count, which receivers turn into CPU time by the period, and cpu/nanoseconds, as measured.
 * Two more have the samples of traces that were kept, which the others then lack: each by itself, as some receivers
 * refuse several values in a sample.
 */
#include <stdlib.h>

#include "../base/numbers.h"
#include "../model/selection.h"
#include "../model/traces.h"
#include "../view/sample_order.h"
#include "export.h"
#include "frames.h"
#include "otlp_resource.h"

enum { DATA_RESOURCE_PROFILES = 1, DATA_DICTIONARY };
enum {
    DICTIONARY_MAPPING = 1,
    DICTIONARY_LOCATION,
    DICTIONARY_FUNCTION,
    DICTIONARY_LINK,
    DICTIONARY_STRING,
    DICTIONARY_ATTRIBUTE,
    DICTIONARY_STACK
};
enum { RESOURCE_PROFILES_SCOPES = 2 };
enum { SCOPE_PROFILES_PROFILES = 2 };
enum { VALUE_STRING = 1, VALUE_INT = 3 };
enum {
    PROFILE_TYPE = 1,
    PROFILE_SAMPLES,
    PROFILE_TIME,
    PROFILE_DURATION,
    PROFILE_PERIOD_TYPE,
    PROFILE_PERIOD,
    PROFILE_ID
};
enum { RESOURCE = 1, RESOURCE_ATTRIBUTE = 1 };
enum { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES, SAMPLE_LINK, SAMPLE_VALUES, SAMPLE_TIMES };
enum { STACK_LOCATIONS = 1 };
enum { MAPPING_START = 1, MAPPING_ATTRIBUTES = 5 };
enum { LOCATION_MAPPING = 1, LOCATION_ADDRESS, LOCATION_LINE, LOCATION_ATTRIBUTES };
enum { FUNCTION_NAME = 1 };
enum { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE };
enum { LINK_TRACE = 1, LINK_SPAN };

struct attribute {
    uint32_t key, text; /* strings of the profile; text PT_NONE: the number counts */
    uint64_t number;
};

struct writer {
    struct pt_profile *profile;
    const struct pt_export_window *window;                /* NULL: the profile as a whole */
    struct pt_numbering strings, modules, frames, stacks; /* element 0 of each table is empty: numbers are from 1 on */
    PT_TABLE_OF(struct attribute) attributes;
    PT_TABLE_OF(struct pt_trace_ids) links;
    struct pt_function_table functions;
    struct pt_buffer dictionary;
    uint32_t thread; /* of which the attributes are at hand; PT_NONE: of none */
    uint32_t thread_name, thread_id;
    uint64_t *numbers; /* scratch */
    uint32_t numbers_capacity;
};

PT_DEFINE_ADD(static uint32_t add_attribute, struct writer, attributes, struct attribute, item->key, item->text,
              item->number)

PT_DEFINE_ADD(static uint32_t add_link, struct writer, links, struct pt_trace_ids, item->trace, item->span)

static uint32_t text_attribute(struct writer *writer, const char *key, uint32_t value)
{
    return 1 + add_attribute(writer, &(struct attribute){pt_intern_text(writer->profile, key), value, 0});
}

static uint32_t number_attribute(struct writer *writer, const char *key, uint64_t value)
{
    return 1 + add_attribute(writer, &(struct attribute){pt_intern_text(writer->profile, key), PT_NONE, value});
}

static void append_value_type(struct writer *writer, struct pt_buffer *to, unsigned field, bool by_count)
{
    pt_append_value_type(to, field, &writer->strings, writer->profile, by_count ? "samples" : "cpu",
                         by_count ? "count" : "nanoseconds");
}

static void put_number(struct writer *writer, uint32_t at, uint64_t value)
{
    writer->numbers = pt_grow(writer->numbers, &writer->numbers_capacity, (uint64_t)at + 1, sizeof *writer->numbers);
    writer->numbers[at] = value;
}

/* Samples come thread by thread. */
static uint32_t put_thread_attributes(struct writer *writer, uint32_t number)
{
    const struct pt_thread thread = writer->profile->threads.items[number];
    uint32_t count = 0;
    if (writer->thread != number) {
        writer->thread = number;
        writer->thread_name = text_attribute(writer, "thread.name", thread.name);
        writer->thread_id = thread.tid == UINT64_MAX ? 0 : number_attribute(writer, "thread.id", thread.tid);
    }
    put_number(writer, count++, writer->thread_name);
    if (writer->thread_id)
        put_number(writer, count++, writer->thread_id);
    return count;
}

static bool is_traced(const struct pt_sample *sample)
{
    return sample->state & PT_STATE_TRACED;
}

static void append_sample(struct writer *writer, struct pt_buffer *to, const struct pt_sample *sample, uint64_t value)
{
    struct pt_profile *profile = writer->profile;
    const struct pt_label_set set = profile->label_sets.items[sample->labels];
    PT_AUTO_BUFFER message = {0}, key = {0};
    uint32_t count = writer->window ? 0 : put_thread_attributes(writer, sample->thread);
    bool traced = is_traced(sample);
    for (uint32_t i = set.first + (traced ? PT_TRACE_LABELS : 0); i < set.first + set.count; i++) {
        if (i > set.first && profile->labels.items[i].key == profile->labels.items[i - 1].key)
            continue; /* of the tasks that await, the nearest: an attribute has one value */
        pt_buffer_clear(&key);
        pt_buffer_format(&key, writer->window ? "%s" : "process.context.label.%s",
                         pt_string(profile, profile->labels.items[i].key));
        put_number(writer, count++, text_attribute(writer, key.data, profile->labels.items[i].value));
    }
    pt_proto_number(&message, SAMPLE_STACK, pt_number(&writer->stacks, sample->node));
    pt_proto_numbers(&message, SAMPLE_ATTRIBUTES, writer->numbers, count);
    if (traced) {
        /* A single sample has the link to its span, and its time. */
        struct pt_trace_ids ids = pt_trace_ids_of(writer->profile, sample);
        pt_proto_number(&message, SAMPLE_LINK, 1 + add_link(writer, &ids));
    }
    pt_proto_numbers(&message, SAMPLE_VALUES, &value, 1);
    if (traced)
        pt_proto_fixed64s(&message, SAMPLE_TIMES, &(uint64_t){pt_sample_unix_ns(profile, sample)}, 1);
    pt_proto_message(to, PROFILE_SAMPLES, &message);
}

/* Single samples come last. */
PT_DEFINE_ORDER(by_identity, struct pt_sample,
                pt_compare(is_traced(x), is_traced(y)) ?: pt_compare(x->thread, y->thread)
                    ?: pt_compare(x->node, y->node) ?: pt_compare(x->labels, y->labels)
                    ?: pt_compare(x->interval, y->interval))

/* The samples are those of one process. Without values there is no profile. */
static void append_profile(struct writer *writer, struct pt_buffer *to, const struct pt_sample *samples, uint32_t count,
                           bool by_count)
{
    const struct pt_thread *thread = &writer->profile->threads.items[samples[0].thread];
    const struct pt_process process = writer->profile->processes.items[thread->process];
    uint64_t start = process.start_unix_ns, end = process.end_unix_ns;
    PT_AUTO_BUFFER message = {0};
    append_value_type(writer, &message, PROFILE_TYPE, by_count);
    size_t empty = message.length;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t value = by_count ? samples[i].count : samples[i].cpu_ns;
        if (value)
            append_sample(writer, &message, &samples[i], value);
    }
    bool is_empty = message.length == empty;
    pt_selected_window(writer->profile, &start, &end);
    pt_proto_fixed64(&message, PROFILE_TIME, start);
    pt_proto_number(&message, PROFILE_DURATION, end > start ? end - start : 0);
    append_value_type(writer, &message, PROFILE_PERIOD_TYPE, false);
    pt_proto_number(&message, PROFILE_PERIOD, process.period_ns);
    if (!is_empty)
        pt_proto_message(to, SCOPE_PROFILES_PROFILES, &message);
}

/* Samples of a profile should all have times or none: there are other profiles of single samples. */
static void append_profiles(struct writer *writer, struct pt_buffer *scope, const struct pt_sample *samples,
                            uint32_t count, bool by_count)
{
    uint32_t sums = 0;
    while (sums < count && !is_traced(&samples[sums]))
        sums++;
    if (sums)
        append_profile(writer, scope, samples, sums, by_count);
    if (count > sums)
        append_profile(writer, scope, samples + sums, count - sums, by_count);
}

/* Writes a window, merged over threads and processes, as one profile of CPU time. */
static void put_window(struct writer *writer, FILE *out)
{
    const struct pt_export_window *window = writer->window;
    struct pt_profile *profile = writer->profile;
    PT_AUTO_BUFFER message = {0}, whole = {0}, resource = {0}, scope = {0};
    for (uint32_t i = 0; i < window->attribute_count; i++)
        pt_otlp_append_attribute(&resource, RESOURCE_ATTRIBUTE, window->attributes[i].key, window->attributes[i].value,
                                 0);
    pt_proto_message(&whole, RESOURCE, &resource);
    append_value_type(writer, &message, PROFILE_TYPE, false);
    for (uint32_t i = 0; i < profile->samples.count; i++)
        append_sample(writer, &message, &profile->samples.items[i], profile->samples.items[i].cpu_ns);
    pt_proto_fixed64(&message, PROFILE_TIME, window->start_unix_ns);
    pt_proto_number(&message, PROFILE_DURATION, window->length_ns);
    append_value_type(writer, &message, PROFILE_PERIOD_TYPE, false);
    pt_proto_number(&message, PROFILE_PERIOD, profile->processes.items[0].period_ns);
    pt_proto_bytes(&message, PROFILE_ID, window->id, 16);
    pt_otlp_append_scope(&scope, "pyprof");
    pt_proto_message(&scope, SCOPE_PROFILES_PROFILES, &message);
    pt_proto_message(&whole, RESOURCE_PROFILES_SCOPES, &scope);
    pt_proto_message(&message, DATA_RESOURCE_PROFILES, &whole);
    fwrite(message.data, 1, message.length, out);
}

static void put_process(struct writer *writer, const struct pt_sample *samples, uint32_t count,
                        const struct pt_export_options *options, FILE *out)
{
    PT_AUTO_BUFFER resource = {0}, scope = {0}, whole = {0};
    uint64_t shown_ns = 0;
    for (uint32_t i = 0; i < count; i++)
        shown_ns += samples[i].cpu_ns;
    pt_otlp_append_resource(&resource, writer->profile, writer->profile->threads.items[samples[0].thread].process,
                            shown_ns);
    pt_otlp_append_scope(&scope, "pyprof");
    append_profiles(writer, &scope, samples, count, true);
    if (!options->samples)
        append_profiles(writer, &scope, samples, count, false);
    pt_proto_message(&resource, RESOURCE_PROFILES_SCOPES, &scope);
    pt_proto_message(&whole, DATA_RESOURCE_PROFILES, &resource);
    fwrite(whole.data, 1, whole.length, out);
}

/* Writes one process after the other: a copy of all samples would take as much as the profile. */
static void put_processes(struct writer *writer, const struct pt_export_options *options, FILE *out)
{
    const struct pt_profile *profile = writer->profile;
    uint32_t *ends, *processes = pt_alloc(profile->samples.count, sizeof *processes), capacity = 0;
    for (uint32_t i = 0; i < profile->samples.count; i++)
        processes[i] = profile->threads.items[profile->samples.items[i].thread].process;
    PT_AUTO_FREE uint32_t *numbers =
        pt_bucket_sort(processes, sizeof *processes, 0, profile->samples.count, profile->processes.count, &ends);
    PT_AUTO_FREE struct pt_sample *samples = NULL;
    for (uint32_t process = 0, first = 0; process < profile->processes.count; first = ends[process++]) {
        uint32_t count = ends[process] - first;
        if (!count)
            continue;
        samples = pt_grow_raw(samples, &capacity, count, sizeof *samples);
        for (uint32_t i = 0; i < count; i++)
            samples[i] = profile->samples.items[numbers[first + i]];
        put_process(writer, samples, pt_merge_equal(samples, count, by_identity), options, out);
    }
    free(processes);
    free(ends);
}

static void append_stack(struct writer *writer, struct pt_buffer *message, uint32_t number)
{
    uint32_t depth = 0;
    for (uint32_t node = number; node; node = pt_below_inlined(writer->profile, node))
        put_number(writer, depth++, pt_number(&writer->frames, writer->profile->nodes.items[node].frame));
    if (depth)
        pt_proto_numbers(message, STACK_LOCATIONS, writer->numbers, depth);
}

static void append_line(struct writer *writer, struct pt_buffer *message, uint32_t number)
{
    struct pt_frame_parts parts = pt_frame_parts_of(writer->profile, number, true);
    const struct pt_frame frame = writer->profile->frames.items[number];
    bool python = frame.kind == PP_FRAME_PYTHON, native = frame.kind == PP_FRAME_NATIVE;
    struct pt_table_function function = {
        .name = native ? pt_plain_symbol(writer->profile, &frame) : parts.name,
        .system_name = native ? frame.symbol : 0,
        .file = parts.file,
        .first_line = python ? writer->profile->functions.items[frame.subject].first_line : 0,
    };
    pt_append_line(message, LOCATION_LINE, pt_number_function(&writer->functions, function), parts.line, frame.column);
}

/* Functions that are inlined at the address come first, the innermost at the beginning. */
static void append_location(struct writer *writer, struct pt_buffer *message, uint32_t number)
{
    struct pt_frame_parts parts = pt_frame_parts_of(writer->profile, number, true);
    struct pt_frame frame = writer->profile->frames.items[number];
    if (parts.module != PT_NONE)
        pt_proto_number(message, LOCATION_MAPPING, pt_number(&writer->modules, parts.module));
    pt_proto_number(message, LOCATION_ADDRESS, frame.kind == PP_FRAME_NATIVE ? frame.address : 0);
    for (; frame.inlined_into; frame = writer->profile->frames.items[number]) {
        append_line(writer, message, number);
        number = frame.inlined_into - 1;
    }
    if (frame.kind != PP_FRAME_NATIVE || frame.symbol)
        append_line(writer, message, number);
    if (frame.kind != PP_FRAME_PSEUDO) {
        uint64_t type =
            text_attribute(writer, "profile.frame.type",
                           pt_intern_text(writer->profile, frame.kind == PP_FRAME_PYTHON ? "cpython" : "native"));
        pt_proto_numbers(message, LOCATION_ATTRIBUTES, &type, 1);
    }
}

static void append_mapping(struct writer *writer, struct pt_buffer *message, uint32_t number)
{
    const struct pt_module module = writer->profile->modules.items[number];
    pt_append_mapping_fields(message, MAPPING_START, &writer->strings, &module);
    if (module.build_id) {
        uint64_t id = text_attribute(writer, "process.executable.build_id.gnu", module.build_id);
        pt_proto_numbers(message, MAPPING_ATTRIBUTES, &id, 1);
    }
}

static void append_function(struct writer *writer, struct pt_buffer *message, uint32_t number)
{
    pt_append_function_fields(message, FUNCTION_NAME, &writer->strings, &writer->functions.functions.items[number]);
}

static void append_attribute(struct writer *writer, struct pt_buffer *message, uint32_t number)
{
    const struct attribute *attribute = &writer->attributes.items[number];
    const char *value = attribute->text == PT_NONE ? NULL : pt_string(writer->profile, attribute->text);
    PT_AUTO_BUFFER any = {0};
    pt_proto_number(message, ATTRIBUTE_KEY, pt_number_string(&writer->strings, attribute->key));
    if (value)
        pt_proto_text(&any, VALUE_STRING, value);
    else
        pt_proto_choice(&any, VALUE_INT, attribute->number);
    pt_proto_message(message, ATTRIBUTE_VALUE, &any);
}

/* Appends a table of the dictionary: an empty element, then `count` elements in this order; NULL: 0, 1, 2 … */
static void append_table(struct writer *writer, unsigned field, const uint32_t *order, uint32_t count,
                         void (*append)(struct writer *writer, struct pt_buffer *message, uint32_t number))
{
    PT_AUTO_BUFFER message = {0};
    pt_proto_message(&writer->dictionary, field, &message);
    for (uint32_t i = 0; i < count; i++) {
        append(writer, &message, order ? order[i] : i);
        pt_proto_message(&writer->dictionary, field, &message);
    }
}

static void append_link(struct writer *writer, const char *trace, const char *span)
{
    unsigned char bytes[PT_TRACE_BYTES];
    PT_AUTO_BUFFER link = {0};
    pt_bytes_of_hex(bytes, trace, PT_TRACE_BYTES);
    pt_proto_bytes(&link, LINK_TRACE, bytes, PT_TRACE_BYTES);
    pt_bytes_of_hex(bytes, span, PT_SPAN_BYTES);
    pt_proto_bytes(&link, LINK_SPAN, bytes, PT_SPAN_BYTES);
    pt_proto_message(&writer->dictionary, DICTIONARY_LINK, &link);
}

static void append_links_and_strings(struct writer *writer)
{
    append_link(writer, "", "");
    for (uint32_t i = 0; i < writer->links.count; i++)
        append_link(writer, pt_string(writer->profile, writer->links.items[i].trace),
                    pt_string(writer->profile, writer->links.items[i].span));
    pt_proto_bytes(&writer->dictionary, DICTIONARY_STRING, "", 0);
    for (uint32_t i = 0; i < writer->strings.count; i++) {
        const char *string = pt_string(writer->profile, writer->strings.order[i]);
        pt_proto_text(&writer->dictionary, DICTIONARY_STRING, string);
    }
}

void pt_export_otlp(struct pt_profile *profile, const struct pt_export_options *options, FILE *out)
{
    struct writer writer = {.profile = profile, .window = options->window, .thread = PT_NONE};
    PT_AUTO_BUFFER whole = {0};
    if (options->window)
        put_window(&writer, out);
    else
        put_processes(&writer, options, out);
    /* Each table numbers what the next ones hold. */
    append_table(&writer, DICTIONARY_STACK, writer.stacks.order, writer.stacks.count, append_stack);
    append_table(&writer, DICTIONARY_LOCATION, writer.frames.order, writer.frames.count, append_location);
    append_table(&writer, DICTIONARY_MAPPING, writer.modules.order, writer.modules.count, append_mapping);
    append_table(&writer, DICTIONARY_FUNCTION, NULL, writer.functions.functions.count, append_function);
    append_table(&writer, DICTIONARY_ATTRIBUTE, NULL, writer.attributes.count, append_attribute);
    append_links_and_strings(&writer);
    pt_proto_message(&whole, DATA_DICTIONARY, &writer.dictionary);
    fwrite(whole.data, 1, whole.length, out);
    pt_buffer_free(&writer.dictionary);
    pt_numbering_free(&writer.strings);
    pt_numbering_free(&writer.modules);
    pt_numbering_free(&writer.frames);
    pt_numbering_free(&writer.stacks);
    PT_FREE_TABLE(&writer.attributes);
    PT_FREE_TABLE(&writer.links);
    pt_function_table_free(&writer.functions);
    free(writer.numbers);
}
