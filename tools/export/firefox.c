/*
 * The Firefox Profiler's processed format, version 60: the first with tables that all threads share; its front-end
 * brings older versions up to its own. A sample stands at the middle of the log's interval (a second) in which it fell,
 * or of several of them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/json.h"
#include "../cli/options.h"
#include "../profile/time_bins.h"
#include "../view/frame_text.h"
#include "../view/summary.h"
#include "export.h"
#include "frames.h"
#include "numbering.h"

#define FORMAT_VERSION    60
#define GECKO_VERSION     31
#define NS_PER_MS         1e6
#define NS_PER_MS_INTEGER 1000000u

enum category { OTHER, PYTHON, NATIVE, INTERPRETER, COLLECTOR };

struct column {
    uint32_t *items;
    uint32_t count, capacity;
};

struct writer {
    struct pt_profile *profile;
    const struct pt_export_options *options;
    FILE *out;
    uint64_t start_unix_ns, end_unix_ns;
    struct pt_numbering strings, files, modules, frames;
    struct pt_numbering functions;   /* by the text of a frame without its line */
    uint32_t *texts, *stack_of_node; /* the latter + 1 */
    struct column prefixes, stack_frames;
    bool first_column;
};

static void append(struct column *column, uint32_t value)
{
    column->items = pt_grow(column->items, &column->capacity, (uint64_t)column->count + 1, sizeof *column->items);
    column->items[column->count++] = value;
}

/* Numbers from 0 on in the file. */
static uint32_t string(struct writer *writer, uint32_t text)
{
    return pt_number(&writer->strings, text) - 1;
}

static void number_nodes(struct writer *writer)
{
    struct pt_profile *profile = writer->profile;
    bool *used = pt_nodes_used(profile);
    writer->stack_of_node = pt_alloc(profile->nodes.count, sizeof *writer->stack_of_node);
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        if (!used[i])
            continue;
        const struct pt_node *node = &profile->nodes.items[i];
        append(&writer->prefixes, node->parent ? writer->stack_of_node[node->parent] - 1 : PT_NONE);
        append(&writer->stack_frames, pt_number(&writer->frames, node->frame) - 1);
        writer->stack_of_node[i] = writer->prefixes.count;
    }
    free(used);
}

static void begin_table(struct writer *writer, const char *name)
{
    fprintf(writer->out, "\"%s\":{", name);
    writer->first_column = true;
}

static void put_column(struct writer *writer, const char *name, const struct column *column)
{
    fprintf(writer->out, "%s\"%s\":", writer->first_column ? "" : ",\n", name);
    pt_json_numbers(writer->out, column->items, column->count);
    writer->first_column = false;
}

/* A column with the same text in every row. */
static void put_constant(struct writer *writer, const char *name, const char *value, uint32_t count)
{
    fprintf(writer->out, "%s\"%s\":[", writer->first_column ? "" : ",\n", name);
    for (uint32_t i = 0; i < count; i++)
        fprintf(writer->out, "%s%s", i ? "," : "", value);
    putc(']', writer->out);
    writer->first_column = false;
}

static void end_table(struct writer *writer, uint32_t count, const char *after)
{
    fprintf(writer->out, ",\"length\":%" PRIu32 "}%s\n", count, after);
}

static uint32_t category_of(const struct pt_profile *profile, const struct pt_frame *frame)
{
    if (frame->kind == PP_FRAME_PYTHON)
        return PYTHON;
    if (frame->kind == PP_FRAME_PSEUDO)
        return strcmp(pt_string(profile, frame->subject), "[gc]") == 0 ? COLLECTOR : OTHER;
    bool interpreter = frame->subject != PT_NONE && profile->modules.items[frame->subject].flags & PP_MODULE_PYTHON;
    return interpreter ? INTERPRETER : NATIVE;
}

/* Any frame that reads so, by the number of its function. */
static uint32_t *frames_of_functions(struct writer *writer)
{
    uint32_t *frames = pt_alloc(writer->functions.count, sizeof *frames);
    for (uint32_t i = writer->frames.count; i--;)
        frames[pt_number(&writer->functions, writer->texts[writer->frames.order[i]]) - 1] = writer->frames.order[i];
    return frames;
}

static uint32_t inline_depth(const struct pt_profile *profile, const struct pt_frame *frame)
{
    uint32_t depth = 0;
    for (; frame->inlined_into; frame = &profile->frames.items[frame->inlined_into - 1])
        depth++;
    return depth;
}

static void put_frames(struct writer *writer)
{
    struct pt_profile *profile = writer->profile;
    struct column categories = {0}, functions = {0}, lines = {0}, columns = {0}, depths = {0};
    for (uint32_t i = 0; i < writer->frames.count; i++)
        append(&functions, pt_number(&writer->functions, writer->texts[writer->frames.order[i]]) - 1);
    uint32_t *like = frames_of_functions(writer);
    for (uint32_t i = 0; i < writer->frames.count; i++) {
        const struct pt_frame *frame = &profile->frames.items[writer->frames.order[i]];
        /* The file of a line is that of the function, which may hold code from others. */
        bool there = frame->source == profile->frames.items[like[functions.items[i]]].source;
        append(&categories, category_of(profile, frame));
        append(&lines, there && frame->line ? frame->line : PT_NONE);
        append(&columns, frame->column ? frame->column : PT_NONE);
        append(&depths, inline_depth(profile, frame));
    }
    free(like);
    uint32_t count = writer->frames.count;
    begin_table(writer, "frameTable");
    put_constant(writer, "address", "-1", count);
    put_column(writer, "inlineDepth", &depths);
    put_column(writer, "category", &categories);
    put_constant(writer, "subcategory", "0", count);
    put_column(writer, "func", &functions);
    put_constant(writer, "nativeSymbol", "null", count);
    put_constant(writer, "innerWindowID", "0", count);
    put_column(writer, "line", &lines);
    put_column(writer, "column", &columns);
    end_table(writer, count, ",");
    free(categories.items);
    free(functions.items);
    free(lines.items);
    free(columns.items);
    free(depths.items);
}

static void put_stacks(struct writer *writer)
{
    begin_table(writer, "stackTable");
    put_column(writer, "frame", &writer->stack_frames);
    put_column(writer, "prefix", &writer->prefixes);
    end_table(writer, writer->prefixes.count, ",");
}

static void put_functions(struct writer *writer)
{
    struct column names = {0}, resources = {0}, sources = {0}, lines = {0};
    uint32_t *frames = frames_of_functions(writer), count = writer->functions.count;
    for (uint32_t i = 0; i < count; i++) {
        struct pt_frame_parts parts = pt_frame_parts_of(writer->profile, frames[i], false);
        const struct pt_frame *frame = &writer->profile->frames.items[frames[i]];
        bool native = parts.kind == PP_FRAME_NATIVE;
        uint32_t source = native ? frame->source : parts.file;
        append(&names, string(writer, native ? pt_plain_symbol(writer->profile, frame) : parts.name));
        append(&sources, source ? pt_number(&writer->files, source) - 1 : PT_NONE);
        append(&lines, parts.line ? parts.line : PT_NONE);
        append(&resources, parts.module == PT_NONE ? PT_NONE : pt_number(&writer->modules, parts.module) - 1);
    }
    begin_table(writer, "funcTable");
    put_column(writer, "name", &names);
    put_constant(writer, "isJS", "false", count);
    put_constant(writer, "relevantForJS", "false", count);
    fputs(",\n\"resource\":[", writer->out); /* where there is none it is -1, not null */
    for (uint32_t i = 0; i < count; i++)
        fprintf(writer->out, "%s%" PRId32, i ? "," : "", (int32_t)resources.items[i]);
    putc(']', writer->out);
    put_column(writer, "source", &sources);
    put_column(writer, "lineNumber", &lines);
    put_constant(writer, "columnNumber", "null", count);
    end_table(writer, count, ",");
    free(frames);
    free(names.items);
    free(resources.items);
    free(sources.items);
    free(lines.items);
}

/* A resource of type 1 is a library. */
static void put_resources(struct writer *writer)
{
    struct column libs = {0}, names = {0}, files = {0};
    for (uint32_t i = 0; i < writer->modules.count; i++) {
        const char *path = pt_string(writer->profile, writer->profile->modules.items[writer->modules.order[i]].path);
        append(&libs, i);
        append(&names, string(writer, pt_intern_text(writer->profile, pt_base_name(path))));
    }
    for (uint32_t i = 0; i < writer->files.count; i++)
        append(&files, string(writer, writer->files.order[i]));
    begin_table(writer, "resourceTable");
    put_column(writer, "lib", &libs);
    put_column(writer, "name", &names);
    put_constant(writer, "host", "null", libs.count);
    put_constant(writer, "type", "1", libs.count);
    end_table(writer, libs.count, ",");
    begin_table(writer, "nativeSymbols");
    fputs("\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[]", writer->out);
    end_table(writer, 0, ",");
    begin_table(writer, "sources");
    put_constant(writer, "uuid", "null", files.count);
    put_column(writer, "filename", &files);
    end_table(writer, files.count, ",");
    free(libs.items);
    free(names.items);
    free(files.items);
}

static void put_libs(struct writer *writer)
{
    fputs("\"libs\":[", writer->out);
    for (uint32_t i = 0; i < writer->modules.count; i++) {
        const struct pt_module *module = &writer->profile->modules.items[writer->modules.order[i]];
        const char *path = pt_string(writer->profile, module->path),
                   *keys[] = {"name", "debugName", "path", "debugPath"};
        putc(i ? ',' : ' ', writer->out);
        for (int key = 0; key < 4; key++) {
            fprintf(writer->out, "%s\"%s\":", key ? "," : "{", keys[key]);
            pt_json_text(writer->out, key < 2 ? pt_base_name(path) : path);
        }
        fputs(",\"arch\":\"x86_64\",\"breakpadId\":\"\",\"codeId\":", writer->out);
        pt_json_text(writer->out, pt_string(writer->profile, module->build_id));
        fputs("}\n", writer->out);
    }
    fputs("],\n", writer->out);
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

/* Milliseconds as text, exact to the nanosecond. */
static void put_ms(FILE *out, uint64_t ns)
{
    fprintf(out, "%" PRIu64 ".%06u", ns / NS_PER_MS_INTEGER, (unsigned)(ns % NS_PER_MS_INTEGER));
}

static void put_samples(struct writer *writer, const struct pt_sample *samples, uint32_t count)
{
    bool by_count = writer->options->samples;
    fputs("\"samples\":{\"stack\":[", writer->out);
    for (uint32_t i = 0; i < count; i++)
        fprintf(writer->out, "%s%" PRIu32, i ? "," : "", writer->stack_of_node[samples[i].node] - 1);
    fputs("],\n\"time\":[", writer->out);
    for (uint32_t i = 0; i < count; i++)
        fprintf(writer->out, "%s%.3f", i ? "," : "", sample_time(writer, &samples[i]));
    fputs("],\n\"weight\":[", writer->out);
    for (uint32_t i = 0; i < count; i++) {
        fputs(i ? "," : "", writer->out);
        if (by_count)
            fprintf(writer->out, "%" PRIu64, samples[i].count);
        else
            put_ms(writer->out, samples[i].cpu_ns);
    }
    fprintf(writer->out, "],\n\"weightType\":\"%s\",\"threadCPUDelta\":[", by_count ? "samples" : "tracing-ms");
    for (uint32_t i = 0; i < count; i++)
        fprintf(writer->out, "%s%" PRIu64, i ? "," : "", samples[i].cpu_ns);
    fprintf(writer->out, "],\"length\":%" PRIu32 "},\n", count);
}

static void put_thread(struct writer *writer, const struct pt_sample *samples, uint32_t count)
{
    const struct pt_thread *thread = &writer->profile->threads.items[samples[0].thread];
    const struct pt_process *process = &writer->profile->processes.items[thread->process];
    fputs("{\"processType\":\"default\",\"processName\":", writer->out);
    pt_json_text(writer->out, pt_string(writer->profile, process->command_line));
    fprintf(writer->out,
            ",\"processStartupTime\":%.3f,\"processShutdownTime\":null,\"registerTime\":%.3f,\"unregisterTime\":null,"
            "\"pausedRanges\":[],\"name\":",
            ms_since_start(writer, process->start_unix_ns), ms_since_start(writer, thread->start_unix_ns));
    pt_json_text(writer->out, pt_string(writer->profile, thread->name));
    fprintf(writer->out, ",\"isMainThread\":%s,\"pid\":\"%" PRIu64 "\",\"tid\":%" PRIu64 ",\n",
            thread->flags & PP_THREAD_MAIN ? "true" : "false", process->pid,
            thread->tid == UINT64_MAX ? 0 : thread->tid);
    put_samples(writer, samples, count);
    fputs("\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],\"phase\":[],\"category\":[],"
          "\"length\":0}}",
          writer->out);
}

static const struct pt_profile *sorted_profile;

static int by_thread_and_time(const void *a, const void *b)
{
    const struct pt_sample *x = a, *y = b;
    const struct pt_interval *intervals = sorted_profile->intervals.items;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    uint64_t u = intervals[x->interval].start_unix_ns + intervals[x->interval].wall_ns / 2;
    uint64_t v = intervals[y->interval].start_unix_ns + intervals[y->interval].wall_ns / 2;
    if (u != v)
        return u < v ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static void put_threads(struct writer *writer)
{
    uint32_t count;
    struct pt_sample *samples = pt_merged_samples(writer->profile, &count);
    sorted_profile = writer->profile;
    qsort(samples, count, sizeof *samples, by_thread_and_time);
    fputs("\"threads\":[", writer->out);
    for (uint32_t i = 0, first; i < count;) {
        for (first = i; i < count && samples[i].thread == samples[first].thread;)
            i++;
        fputs(first ? ",\n" : "\n", writer->out);
        put_thread(writer, &samples[first], i - first);
    }
    fputs("]", writer->out);
    free(samples);
}

static void put_meta(struct writer *writer)
{
    const struct pt_process *process = &writer->profile->processes.items[0];
    uint64_t start, end;
    pt_summary_span(writer->profile, &start, &end);
    fprintf(writer->out,
            "{\"meta\":{\"interval\":%.3f,\"startTime\":%.3f,\"profilingStartTime\":0,\"profilingEndTime\":%.3f,"
            "\"processType\":0,\"product\":",
            (double)process->period_ns / NS_PER_MS, (double)start / NS_PER_MS, ms_since_start(writer, end));
    pt_json_text(writer->out, pt_string(writer->profile, process->command_line));
    fprintf(writer->out,
            ",\"stackwalk\":1,\"version\":%d,\"preprocessedProfileVersion\":%d,\"symbolicated\":true,\n"
            "\"categories\":[",
            GECKO_VERSION, FORMAT_VERSION);
    static const char *const categories[][2] = {{"Other", "grey"},
                                                {"Python", "yellow"},
                                                {"Native", "blue"},
                                                {"CPython", "lightblue"},
                                                {"Garbage collection", "orange"}};
    for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++)
        fprintf(writer->out, "%s{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"]}", i ? "," : "",
                categories[i][0], categories[i][1]);
    struct pt_buffer line = {0};
    pt_summary_append_accounting(writer->profile, &line);
    fprintf(writer->out,
            "],\"extra\":[{\"label\":\"CPU time\",\"entries\":[{\"label\":\"Accounting\",\"format\":\"string\","
            "\"value\":\"%s\"}]}",
            line.data);
    pt_buffer_free(&line);
    fputs("],\"markerSchema\":[],\"importedFrom\":\"pyprof " PYPROF_VERSION "\",\n"
          "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"}},\n\"pages\":[],\n",
          writer->out);
}

void pt_export_firefox(struct pt_profile *profile, const struct pt_export_options *options, FILE *out)
{
    struct writer writer = {.profile = profile, .options = options, .out = out};
    pt_summary_span(profile, &writer.start_unix_ns, &writer.end_unix_ns);
    writer.texts = pt_frame_texts(profile, false);
    number_nodes(&writer);
    put_meta(&writer);
    fputs("\"shared\":{", out);
    put_stacks(&writer);
    put_frames(&writer);
    put_functions(&writer);
    put_resources(&writer);
    fputs("\"stringArray\":[", out);
    for (uint32_t i = 0; i < writer.strings.count; i++) {
        fputs(i ? ",\n" : "", out);
        pt_json_text(out, pt_string(profile, writer.strings.order[i]));
    }
    fputs("]},\n", out);
    put_libs(&writer);
    put_threads(&writer);
    fputs("}\n", out);
    pt_numbering_free(&writer.strings);
    pt_numbering_free(&writer.files);
    pt_numbering_free(&writer.modules);
    pt_numbering_free(&writer.frames);
    pt_numbering_free(&writer.functions);
    free(writer.texts);
    free(writer.stack_of_node);
    free(writer.prefixes.items);
    free(writer.stack_frames.items);
}
