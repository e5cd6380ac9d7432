/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples are written first, tables after them: a table's entries are numbered at their first use, so that ids are
 * 1, 2, 3 … in the order of the file, which some readers insist on.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/gzip.h"
#include "../model/frame_text.h"
#include "../model/selection.h"
#include "../view/sample_order.h"
#include "../view/summary.h"
#include "export.h"
#include "frames.h"
#include "pprof_labels.h"

/* These states make samples different; being an estimate does not. */
#define TOLD_APART (PP_STATE_GIL_KNOWN | PP_STATE_HOLDS_GIL | PP_STATE_GC_KNOWN | PP_STATE_GC)

/* Field numbers of profile.proto. */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION, PROFILE_FUNCTION, PROFILE_STRING };
enum {
    PROFILE_TIME = 9,
    PROFILE_DURATION,
    PROFILE_PERIOD_TYPE,
    PROFILE_PERIOD,
    PROFILE_COMMENT,
    PROFILE_DEFAULT_SAMPLE_TYPE
};
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE };
enum { MAPPING_ID = 1, MAPPING_START };
enum { MAPPING_BUILD_ID = 6, MAPPING_HAS_FUNCTIONS, MAPPING_HAS_FILES, MAPPING_HAS_LINES, MAPPING_HAS_INLINED };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME };

struct writer {
    struct pt_profile *profile;
    const struct pt_export_window *window; /* NULL: the profile as a whole */
    struct pt_gzip gzip;
    struct pt_numbering strings, frames, modules;
    struct pt_function_table functions;
    uint32_t python_module; /* PT_NONE: none known */
    bool *named, *lined;    /* by module: all its frames have names, lines */
    struct pt_pprof_labels labels;
    struct pt_buffer values; /* scratch */
};

static void put_message(struct writer *writer, unsigned field, struct pt_buffer *message)
{
    pt_proto_message(&writer->gzip.text, field, message);
    pt_gzip_flush(&writer->gzip);
}

static uint64_t string(struct writer *writer, uint32_t item)
{
    return pt_number_string(&writer->strings, item);
}

static uint64_t text(struct writer *writer, const char *text)
{
    return pt_number_text(&writer->strings, writer->profile, text);
}

static void put_value_type(struct writer *writer, unsigned field, const char *type, const char *unit)
{
    pt_append_value_type(&writer->gzip.text, field, &writer->strings, writer->profile, type, unit);
}

static void put_sample(struct writer *writer, const struct pt_buffer *path, const struct pt_sample *sample)
{
    struct pt_buffer *out = &writer->gzip.text;
    const struct pt_buffer *labels = writer->labels.of_sample;
    size_t length = 0;
    pt_pprof_labels_of(&writer->labels, sample);
    for (unsigned i = 0; i < PT_PPROF_LABELS; i++)
        length += labels[i].length;
    writer->values.length = 0;
    const uint64_t values[] = {sample->count, sample->cpu_ns};
    pt_proto_numbers(&writer->values, SAMPLE_VALUE, writer->window ? values + 1 : values, writer->window ? 1 : 2);
    pt_proto_header(out, PROFILE_SAMPLE, path->length + writer->values.length + length);
    pt_buffer_append(out, path->data, path->length);
    pt_buffer_append(out, writer->values.data, writer->values.length);
    for (unsigned i = 0; i < PT_PPROF_LABELS; i++)
        pt_buffer_append(out, labels[i].data, labels[i].length);
    pt_gzip_flush(&writer->gzip);
}

/* Writes the samples. Those that differ only in the interval, or in being an estimate, are merged. */
static void put_samples(struct writer *writer)
{
    struct pt_sample_order *order = pt_sample_order_new(writer->profile, TOLD_APART, writer->labels.timed);
    PT_AUTO_BUFFER path = {0};
    for (uint32_t node = 0; node < writer->profile->nodes.count; node++) {
        const struct pt_sample *samples;
        uint32_t count = pt_samples_of_node(order, node, &samples);
        if (!count)
            continue;
        pt_buffer_clear(&path);
        struct pt_buffer packed = {0};
        for (uint32_t at = node; at; at = pt_below_inlined(writer->profile, at))
            pt_append_varint(&packed, pt_number(&writer->frames, writer->profile->nodes.items[at].frame));
        pt_proto_bytes(&path, SAMPLE_LOCATION, packed.data, packed.length);
        pt_buffer_free(&packed);
        for (uint32_t i = 0; i < count; i++)
            if (samples[i].count || samples[i].cpu_ns)
                put_sample(writer, &path, &samples[i]);
    }
    pt_sample_order_free(order);
}

static uint32_t native_function(struct writer *writer, const struct pt_frame *frame)
{
    struct pt_table_function function = {
        .name = pt_plain_symbol(writer->profile, frame), .system_name = frame->symbol, .file = frame->source};
    if (!frame->line && frame->subject != PT_NONE)
        function.file = writer->profile->modules.items[frame->subject].path;
    else if (!frame->line)
        function.file = pt_intern_text(writer->profile, PT_JIT_MODULE);
    return pt_number_function(&writer->functions, function);
}

/* Appends a line for each function that is inlined at the address, the innermost first. Returns the frame of the
 * function that is not inlined. */
static const struct pt_frame *append_inlined(struct writer *writer, struct pt_buffer *message,
                                             const struct pt_frame *frame)
{
    for (; frame->inlined_into; frame = &writer->profile->frames.items[frame->inlined_into - 1])
        pt_append_line(message, LOCATION_LINE, native_function(writer, frame), frame->line, frame->column);
    return frame;
}

static void put_location(struct writer *writer, uint32_t id, uint32_t number)
{
    struct pt_profile *profile = writer->profile;
    const struct pt_frame *frame = &profile->frames.items[number];
    PT_AUTO_BUFFER message = {0}, inlined = {0};
    uint32_t function = 0, module = PT_NONE;
    if (frame->kind == PP_FRAME_NATIVE) {
        frame = append_inlined(writer, &inlined, frame);
        module = frame->subject;
        function = frame->symbol ? native_function(writer, frame) : 0;
        if (module != PT_NONE) {
            writer->named[module] &= function != 0;
            writer->lined[module] &= frame->line != 0;
        }
    } else if (frame->kind == PP_FRAME_PYTHON) {
        const struct pt_function *from = &profile->functions.items[frame->subject];
        module = writer->python_module;
        function = pt_number_function(&writer->functions,
                                      (struct pt_table_function){from->name, from->name, from->file, from->first_line});
    } else {
        function =
            pt_number_function(&writer->functions, (struct pt_table_function){frame->subject, frame->subject, 0, 0});
    }
    pt_proto_number(&message, LOCATION_ID, id);
    if (module != PT_NONE)
        pt_proto_number(&message, LOCATION_MAPPING, pt_number(&writer->modules, module));
    pt_proto_number(&message, LOCATION_ADDRESS, frame->kind == PP_FRAME_NATIVE ? frame->address : 0);
    pt_buffer_append(&message, inlined.data, inlined.length);
    if (function)
        pt_append_line(&message, LOCATION_LINE, function, frame->line, frame->column);
    put_message(writer, PROFILE_LOCATION, &message);
}

static void put_functions(struct writer *writer)
{
    PT_AUTO_BUFFER message = {0};
    for (uint32_t i = 0; i < writer->functions.functions.count; i++) {
        pt_proto_number(&message, FUNCTION_ID, i + 1);
        pt_append_function_fields(&message, FUNCTION_NAME, &writer->strings, &writer->functions.functions.items[i]);
        put_message(writer, PROFILE_FUNCTION, &message);
    }
}

static void put_mappings(struct writer *writer)
{
    PT_AUTO_BUFFER message = {0};
    for (uint32_t i = 0; i < writer->modules.count; i++) {
        uint32_t item = writer->modules.order[i];
        const struct pt_module *module = &writer->profile->modules.items[item];
        bool python = item == writer->python_module;
        pt_proto_number(&message, MAPPING_ID, i + 1);
        pt_append_mapping_fields(&message, MAPPING_START, &writer->strings, module);
        pt_proto_number(&message, MAPPING_BUILD_ID, string(writer, module->build_id));
        /* Python frames belong to the interpreter's mapping: readers must not search for their symbols. */
        pt_proto_number(&message, MAPPING_HAS_FUNCTIONS,
                        python || writer->named[item] || writer->profile->request->served);
        pt_proto_number(&message, MAPPING_HAS_FILES, python || writer->lined[item]);
        pt_proto_number(&message, MAPPING_HAS_LINES, python || writer->lined[item]);
        pt_proto_number(&message, MAPPING_HAS_INLINED, python || writer->lined[item]);
        put_message(writer, PROFILE_MAPPING, &message);
    }
}

static void append_comment(struct writer *writer, uint64_t *comments, uint32_t *count, struct pt_buffer *line)
{
    comments[(*count)++] = text(writer, line->data);
    pt_buffer_clear(line);
}

static void put_comments(struct writer *writer)
{
    const struct pt_profile *profile = writer->profile;
    PT_AUTO_BUFFER line = {0};
    uint64_t comments[4];
    uint32_t count = 0;
    if (writer->window) /* command lines may hold what servers need not know */
        return;
    const struct pt_process *first = &profile->processes.items[0];
    pt_buffer_format(&line, "libpyprof %s, Python %s, %u process%s", pt_string(profile, first->library_version),
                     first->python_version ? pt_string(profile, first->python_version) : "not found",
                     profile->processes.count, pt_plural(profile->processes.count, "es"));
    append_comment(writer, comments, &count, &line);
    pt_buffer_text(&line, "command: ");
    pt_buffer_text(&line, pt_string(profile, first->command_line));
    append_comment(writer, comments, &count, &line);
    pt_summary_append_accounting(profile, &line);
    append_comment(writer, comments, &count, &line);
    pt_proto_numbers(&writer->gzip.text, PROFILE_COMMENT, comments, count);
}

static void put_times(struct writer *writer, bool samples)
{
    struct pt_buffer *out = &writer->gzip.text;
    uint64_t start, end, period = 0;
    pt_profile_span(writer->profile, &start, &end);
    pt_selected_window(writer->profile, &start, &end);
    if (writer->window) {
        start = writer->window->start_unix_ns;
        end = start + writer->window->length_ns;
    }
    for (uint32_t i = 0; i < writer->profile->processes.count && !period; i++)
        period = writer->profile->processes.items[i].period_ns;
    pt_proto_number(out, PROFILE_TIME, start);
    pt_proto_number(out, PROFILE_DURATION, end > start ? end - start : 0);
    pt_proto_number(out, PROFILE_PERIOD, period);
    pt_proto_number(out, PROFILE_DEFAULT_SAMPLE_TYPE, text(writer, samples ? "samples" : "cpu"));
}

static void put_strings(struct writer *writer)
{
    PT_AUTO_BUFFER entry = {0};
    put_message(writer, PROFILE_STRING, &entry);
    for (uint32_t i = 0; i < writer->strings.count; i++) {
        pt_buffer_text(&entry, pt_string(writer->profile, writer->strings.order[i]));
        put_message(writer, PROFILE_STRING, &entry);
    }
}

/* Returns the module that readers take for the program: the executable of the process that used most CPU. A log holds
 * only the modules that were seen on stacks, and it may not be among them. */
static uint32_t main_module(struct pt_profile *profile)
{
    const struct pt_process *most = &profile->processes.items[0];
    for (uint32_t i = 1; i < profile->processes.count; i++)
        if (profile->processes.items[i].found_ns > most->found_ns)
            most = &profile->processes.items[i];
    for (uint32_t i = 0; i < profile->modules.count; i++)
        if (profile->modules.items[i].path == most->executable)
            return i;
    return pt_add_module(profile, &(struct pt_module){.path = most->executable, .flags = PP_MODULE_MAIN});
}

static void number_modules(struct writer *writer)
{
    uint32_t first = main_module(writer->profile);
    writer->named = pt_alloc(writer->profile->modules.count, sizeof *writer->named);
    writer->lined = pt_alloc(writer->profile->modules.count, sizeof *writer->lined);
    for (uint32_t i = 0; i < writer->profile->modules.count; i++) {
        writer->named[i] = writer->lined[i] = true;
        if (writer->profile->modules.items[i].flags & PP_MODULE_PYTHON && writer->python_module == PT_NONE)
            writer->python_module = i;
    }
    pt_number(&writer->modules, first);
}

void pt_export_pprof(struct pt_profile *profile, const struct pt_export_options *options, FILE *out)
{
    struct writer writer = {.profile = profile,
                            .window = options->window,
                            .python_module = PT_NONE,
                            .labels = {.profile = profile,
                                       .timed = !options->window && profile->request->traces != PT_TRACES_NONE,
                                       .events = options->events,
                                       .merged = options->window}};
    writer.labels.strings = &writer.strings;
    pt_gzip_begin(&writer.gzip, out);
    number_modules(&writer);
    if (!writer.window)
        put_value_type(&writer, PROFILE_SAMPLE_TYPE, "samples", "count");
    put_value_type(&writer, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
    put_value_type(&writer, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
    put_times(&writer, options->samples);
    put_comments(&writer);
    put_samples(&writer);
    for (uint32_t i = 0; i < writer.frames.count; i++)
        put_location(&writer, i + 1, writer.frames.order[i]);
    put_mappings(&writer);
    put_functions(&writer);
    put_strings(&writer);
    pt_gzip_end(&writer.gzip);
    pt_buffer_free(&writer.values);
    pt_pprof_labels_free(&writer.labels);
    pt_numbering_free(&writer.strings);
    pt_numbering_free(&writer.frames);
    pt_numbering_free(&writer.modules);
    pt_function_table_free(&writer.functions);
    free(writer.named);
    free(writer.lined);
}
