/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Firefox Profiler's processed format, version 60: the first with tables that all threads share; its front-end
 * brings older versions up to its own. A sample is at the middle of the log's interval (a second) in which it fell,
 * or of several of them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../preload/common/pseudo_frames.h"
#include "../base/json.h"
#include "../model/frame_text.h"
#include "../model/time_bins.h"
#include "../view/summary.h"
#include "export.h"
#include "frames.h"

#define FORMAT_VERSION    60
#define GECKO_VERSION     31
#define NS_PER_MS         1e6
#define NS_PER_MS_INTEGER 1000000u

enum category { OTHER, PYTHON, NATIVE, INTERPRETER, COLLECTOR };

struct writer {
    struct pt_profile *profile;
    const struct pt_export_options *options;
    struct pt_json json;
    uint64_t start_unix_ns, end_unix_ns;
    struct pt_numbering strings, files, modules, frames, stacks; /* the latter: nodes */
    struct pt_numbering functions;                               /* by the text of a frame without its line */
    uint32_t *texts;                                             /* of frames, without lines */
};

/* Tables are objects of columns of equal length. In each row's value `i` is the row. */
#define COLUMN(json, name, count, put)                                                                                 \
    do {                                                                                                               \
        pt_json_begin(json, name, '[');                                                                                \
        for (uint32_t i = 0; i < (count); i++)                                                                         \
            put;                                                                                                       \
        pt_json_end(json, ']');                                                                                        \
    } while (0)
#define NUMBERS(json, name, count, value)   COLUMN(json, name, count, pt_json_number(json, NULL, value))
#define CONSTANTS(json, name, count, value) COLUMN(json, name, count, pt_json_format(json, NULL, value))
/* Values of which PT_NONE is null. */
#define OPTIONALS(json, name, count, value) COLUMN(json, name, count, put_optional(json, value))

static void put_optional(struct pt_json *json, uint32_t value)
{
    pt_json_known(json, NULL, value, value != PT_NONE);
}

static void end_table(struct pt_json *json, uint32_t count)
{
    pt_json_number(json, "length", count);
    pt_json_end(json, '}');
}

/* Returns the number of a string in the file, from 0 on. */
static uint32_t string(struct writer *writer, uint32_t text)
{
    return pt_number(&writer->strings, text) - 1;
}

static const struct pt_node *node_of(const struct writer *writer, uint32_t stack)
{
    return &writer->profile->nodes.items[writer->stacks.order[stack]];
}

static void put_stacks(struct writer *writer)
{
    struct pt_json *json = &writer->json;
    uint32_t count = writer->stacks.count;
    pt_json_begin(json, "stackTable", '{');
    NUMBERS(json, "frame", count, pt_number(&writer->frames, node_of(writer, i)->frame) - 1);
    OPTIONALS(json, "prefix", count,
              node_of(writer, i)->parent ? pt_number(&writer->stacks, node_of(writer, i)->parent) - 1 : PT_NONE);
    end_table(json, count);
}

static uint32_t category_of(const struct pt_profile *profile, const struct pt_frame *frame)
{
    if (frame->kind == PP_FRAME_PYTHON)
        return PYTHON;
    if (frame->kind == PP_FRAME_PSEUDO)
        return strcmp(pt_string(profile, frame->subject), PP_PSEUDO_GC) == 0 ? COLLECTOR : OTHER;
    bool interpreter = frame->subject != PT_NONE && profile->modules.items[frame->subject].flags & PP_MODULE_PYTHON;
    return interpreter ? INTERPRETER : NATIVE;
}

static const struct pt_frame *frame_of(const struct writer *writer, uint32_t number)
{
    return &writer->profile->frames.items[writer->frames.order[number]];
}

static uint32_t function_of(struct writer *writer, uint32_t number)
{
    return pt_number(&writer->functions, writer->texts[writer->frames.order[number]]) - 1;
}

/* Returns, by function, a frame that reads so. The caller frees. */
static uint32_t *frames_of_functions(struct writer *writer)
{
    for (uint32_t i = 0; i < writer->frames.count; i++)
        function_of(writer, i);
    uint32_t *frames = pt_alloc(writer->functions.count, sizeof *frames);
    for (uint32_t i = writer->frames.count; i--;)
        frames[function_of(writer, i)] = writer->frames.order[i];
    return frames;
}

static uint32_t inline_depth(const struct pt_profile *profile, const struct pt_frame *frame)
{
    uint32_t depth = 0;
    for (; frame->inlined_into; frame = &profile->frames.items[frame->inlined_into - 1])
        depth++;
    return depth;
}

/* Returns the line of a frame. The format takes it for a line of the function's file: lines of other files are left
 * out. */
static uint32_t line_of(struct writer *writer, const uint32_t *like, uint32_t number)
{
    const struct pt_frame *frame = frame_of(writer, number);
    bool there = frame->source == writer->profile->frames.items[like[function_of(writer, number)]].source;
    return there && frame->line ? frame->line : PT_NONE;
}

static void put_frames(struct writer *writer, const uint32_t *like)
{
    struct pt_json *json = &writer->json;
    uint32_t count = writer->frames.count;
    pt_json_begin(json, "frameTable", '{');
    CONSTANTS(json, "address", count, "-1");
    NUMBERS(json, "inlineDepth", count, inline_depth(writer->profile, frame_of(writer, i)));
    NUMBERS(json, "category", count, category_of(writer->profile, frame_of(writer, i)));
    CONSTANTS(json, "subcategory", count, "0");
    NUMBERS(json, "func", count, function_of(writer, i));
    CONSTANTS(json, "nativeSymbol", count, "null");
    CONSTANTS(json, "innerWindowID", count, "0");
    OPTIONALS(json, "line", count, line_of(writer, like, i));
    OPTIONALS(json, "column", count, frame_of(writer, i)->column ? frame_of(writer, i)->column : PT_NONE);
    end_table(json, count);
}

static void put_functions(struct writer *writer, const uint32_t *frames)
{
    struct pt_json *json = &writer->json;
    uint32_t count = writer->functions.count;
    struct {
        uint32_t name, source, line;
        int32_t resource; /* -1: none; it must not be null */
    } *rows = pt_alloc(count, sizeof *rows);
    for (uint32_t i = 0; i < count; i++) {
        struct pt_frame_parts parts = pt_frame_parts_of(writer->profile, frames[i], false);
        const struct pt_frame *frame = &writer->profile->frames.items[frames[i]];
        bool native = parts.kind == PP_FRAME_NATIVE;
        uint32_t source = native ? frame->source : parts.file;
        rows[i].name = string(writer, native ? pt_plain_symbol(writer->profile, frame) : parts.name);
        rows[i].source = source ? pt_number(&writer->files, source) - 1 : PT_NONE;
        rows[i].line = parts.line ? parts.line : PT_NONE;
        rows[i].resource = parts.module == PT_NONE ? -1 : (int32_t)pt_number(&writer->modules, parts.module) - 1;
    }
    pt_json_begin(json, "funcTable", '{');
    NUMBERS(json, "name", count, rows[i].name);
    CONSTANTS(json, "isJS", count, "false");
    CONSTANTS(json, "relevantForJS", count, "false");
    COLUMN(json, "resource", count, pt_json_format(json, NULL, "%" PRId32, rows[i].resource));
    OPTIONALS(json, "source", count, rows[i].source);
    OPTIONALS(json, "lineNumber", count, rows[i].line);
    CONSTANTS(json, "columnNumber", count, "null");
    end_table(json, count);
    free(rows);
}

static const char *path_of(const struct writer *writer, uint32_t module)
{
    return pt_string(writer->profile, writer->profile->modules.items[writer->modules.order[module]].path);
}

/* A resource of type 1 is a library. */
static void put_resources(struct writer *writer)
{
    struct pt_json *json = &writer->json;
    uint32_t count = writer->modules.count, files = writer->files.count;
    pt_json_begin(json, "resourceTable", '{');
    NUMBERS(json, "lib", count, i);
    NUMBERS(json, "name", count, string(writer, pt_intern_text(writer->profile, pt_base_name(path_of(writer, i)))));
    CONSTANTS(json, "host", count, "null");
    CONSTANTS(json, "type", count, "1");
    end_table(json, count);
    pt_json_begin(json, "nativeSymbols", '{');
    pt_json_format(json, "libIndex", "[]");
    pt_json_format(json, "address", "[]");
    pt_json_format(json, "name", "[]");
    pt_json_format(json, "functionSize", "[]");
    end_table(json, 0);
    pt_json_begin(json, "sources", '{');
    CONSTANTS(json, "uuid", files, "null");
    NUMBERS(json, "filename", files, string(writer, writer->files.order[i]));
    end_table(json, files);
}

static void put_shared(struct writer *writer)
{
    struct pt_json *json = &writer->json;
    pt_json_begin(json, "shared", '{');
    put_stacks(writer);
    uint32_t *frames = frames_of_functions(writer);
    put_frames(writer, frames);
    put_functions(writer, frames);
    free(frames);
    put_resources(writer);
    COLUMN(json, "stringArray", writer->strings.count,
           pt_json_text(json, NULL, pt_string(writer->profile, writer->strings.order[i])));
    pt_json_end(json, '}');
}

static void put_libs(struct writer *writer)
{
    struct pt_json *json = &writer->json;
    pt_json_begin(json, "libs", '[');
    for (uint32_t i = 0; i < writer->modules.count; i++) {
        const struct pt_module *module = &writer->profile->modules.items[writer->modules.order[i]];
        const char *path = path_of(writer, i), *keys[] = {"name", "debugName", "path", "debugPath"};
        pt_json_begin(json, NULL, '{');
        for (int key = 0; key < 4; key++)
            pt_json_text(json, keys[key], key < 2 ? pt_base_name(path) : path);
        pt_json_text(json, "arch", pt_string(writer->profile, writer->profile->processes.items[0].architecture));
        pt_json_text(json, "breakpadId", "");
        pt_json_text(json, "codeId", pt_string(writer->profile, module->build_id));
        pt_json_end(json, '}');
    }
    pt_json_end(json, ']');
}

static double ms_since_start(const struct writer *writer, uint64_t unix_ns)
{
    return unix_ns > writer->start_unix_ns ? (double)(unix_ns - writer->start_unix_ns) / NS_PER_MS : 0;
}

static double sample_time(const struct writer *writer, const struct pt_sample *sample)
{
    const struct pt_interval *interval = &writer->profile->intervals.items[sample->interval];
    return ms_since_start(writer, interval->start_unix_ns + pt_wall_of_run(interval, writer->end_unix_ns) / 2);
}

static void put_weight(struct writer *writer, const struct pt_sample *sample)
{
    if (writer->options->samples)
        pt_json_number(&writer->json, NULL, sample->count);
    else /* milliseconds, exact to the nanosecond */
        pt_json_format(&writer->json, NULL, "%" PRIu64 ".%06u", sample->cpu_ns / NS_PER_MS_INTEGER,
                       (unsigned)(sample->cpu_ns % NS_PER_MS_INTEGER));
}

static void put_samples(struct writer *writer, const struct pt_sample *samples, uint32_t count)
{
    struct pt_json *json = &writer->json;
    pt_json_begin(json, "samples", '{');
    NUMBERS(json, "stack", count, pt_number(&writer->stacks, samples[i].node) - 1);
    COLUMN(json, "time", count, pt_json_format(json, NULL, "%.3f", sample_time(writer, &samples[i])));
    COLUMN(json, "weight", count, put_weight(writer, &samples[i]));
    pt_json_text(json, "weightType", writer->options->samples ? "samples" : "tracing-ms");
    NUMBERS(json, "threadCPUDelta", count, samples[i].cpu_ns);
    end_table(json, count);
}

static void put_thread(struct writer *writer, const struct pt_sample *samples, uint32_t count)
{
    static const char *const markers[] = {"data", "name", "startTime", "endTime", "phase", "category"};
    const struct pt_thread *thread = &writer->profile->threads.items[samples[0].thread];
    const struct pt_process *process = &writer->profile->processes.items[thread->process];
    struct pt_json *json = &writer->json;
    pt_json_begin(json, NULL, '{');
    pt_json_text(json, "processType", "default");
    pt_json_text(json, "processName", pt_string(writer->profile, process->command_line));
    pt_json_format(json, "processStartupTime", "%.3f", ms_since_start(writer, process->start_unix_ns));
    pt_json_text(json, "processShutdownTime", NULL);
    pt_json_format(json, "registerTime", "%.3f", ms_since_start(writer, thread->start_unix_ns));
    pt_json_text(json, "unregisterTime", NULL);
    pt_json_format(json, "pausedRanges", "[]");
    pt_json_text(json, "name", pt_string(writer->profile, thread->name));
    pt_json_bool(json, "isMainThread", thread->flags & PP_THREAD_MAIN);
    pt_json_format(json, "pid", "\"%" PRIu64 "\"", process->pid);
    pt_json_number(json, "tid", thread->tid == UINT64_MAX ? 0 : thread->tid);
    put_samples(writer, samples, count);
    pt_json_begin(json, "markers", '{');
    for (size_t i = 0; i < sizeof markers / sizeof markers[0]; i++)
        pt_json_format(json, markers[i], "[]");
    end_table(json, 0);
    pt_json_end(json, '}');
}

static void put_threads(struct writer *writer)
{
    uint32_t count;
    PT_AUTO_FREE struct pt_sample *samples = pt_samples_in_time(writer->profile, &count);
    pt_json_begin(&writer->json, "threads", '[');
    for (uint32_t i = 0, first; i < count;) {
        for (first = i; i < count && samples[i].thread == samples[first].thread;)
            i++;
        put_thread(writer, &samples[first], i - first);
    }
    pt_json_end(&writer->json, ']');
}

static void put_meta(struct writer *writer)
{
    static const char *const categories[][2] = {{"Other", "grey"},
                                                {"Python", "yellow"},
                                                {"Native", "blue"},
                                                {"CPython", "lightblue"},
                                                {"Garbage collection", "orange"}};
    const struct pt_process *process = &writer->profile->processes.items[0];
    struct pt_json *json = &writer->json;
    PT_AUTO_BUFFER accounting = {0};
    pt_summary_append_accounting(writer->profile, &accounting);
    pt_json_begin(json, "meta", '{');
    pt_json_format(json, "interval", "%.3f", (double)process->period_ns / NS_PER_MS);
    pt_json_format(json, "startTime", "%.3f", (double)writer->start_unix_ns / NS_PER_MS);
    pt_json_number(json, "profilingStartTime", 0);
    pt_json_format(json, "profilingEndTime", "%.3f", ms_since_start(writer, writer->end_unix_ns));
    pt_json_number(json, "processType", 0);
    pt_json_text(json, "product", pt_string(writer->profile, process->command_line));
    pt_json_number(json, "stackwalk", 1);
    pt_json_number(json, "version", GECKO_VERSION);
    pt_json_number(json, "preprocessedProfileVersion", FORMAT_VERSION);
    pt_json_bool(json, "symbolicated", true);
    pt_json_begin(json, "categories", '[');
    for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++) {
        pt_json_begin(json, NULL, '{');
        pt_json_text(json, "name", categories[i][0]);
        pt_json_text(json, "color", categories[i][1]);
        CONSTANTS(json, "subcategories", 1, "\"Other\"");
        pt_json_end(json, '}');
    }
    pt_json_end(json, ']');
    pt_json_format(json, "extra",
                   "[{\"label\":\"CPU time\",\"entries\":[{\"label\":\"Accounting\",\"format\":\"string\","
                   "\"value\":\"%s\"}]}]",
                   accounting.data);
    pt_json_format(json, "markerSchema", "[]");
    pt_json_text(json, "importedFrom", "pyprof " PYPROF_VERSION);
    pt_json_format(json, "sampleUnits", "{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"}");
    pt_json_end(json, '}');
    pt_json_format(json, "pages", "[]");
}

void pt_export_firefox(struct pt_profile *profile, const struct pt_export_options *options, FILE *out)
{
    struct writer writer = {.profile = profile, .options = options, .json = {.out = out}};
    pt_profile_span(profile, &writer.start_unix_ns, &writer.end_unix_ns);
    writer.texts = pt_frame_texts(profile, false);
    /* Parents come before their children. */
    bool *used = pt_nodes_used(writer.profile);
    for (uint32_t i = 1; i < writer.profile->nodes.count; i++)
        if (used[i])
            pt_number(&writer.stacks, i);
    free(used);
    pt_json_begin(&writer.json, NULL, '{');
    put_meta(&writer);
    put_shared(&writer);
    put_libs(&writer);
    put_threads(&writer);
    pt_json_end(&writer.json, '}');
    pt_json_finish(&writer.json);
    struct pt_numbering *const numberings[] = {&writer.strings, &writer.files,  &writer.modules,
                                               &writer.frames,  &writer.stacks, &writer.functions};
    for (size_t i = 0; i < sizeof numberings / sizeof numberings[0]; i++)
        pt_numbering_free(numberings[i]);
    free(writer.texts);
}
