/* SPDX-License-Identifier: Apache-2.0 */
#include "debug_log.h"

#include <errno.h>
#include <inttypes.h>

#include "../base/print.h"
#include "../cli/options.h"
#include "../load/files.h"
#include "log_text.h"

static const char *block_name(uint32_t type)
{
    static const char *const names[] = {
        [PP_BLOCK_PROCESS] = "PROCESS", [PP_BLOCK_STRINGS] = "STRINGS",       [PP_BLOCK_MODULES] = "MODULES",
        [PP_BLOCK_CODES] = "CODES",     [PP_BLOCK_FRAMES] = "FRAMES",         [PP_BLOCK_NODES] = "NODES",
        [PP_BLOCK_THREADS] = "THREADS", [PP_BLOCK_LABELS] = "LABELS",         [PP_BLOCK_SAMPLES] = "SAMPLES",
        [PP_BLOCK_NOTICE] = "NOTICE",   [PP_BLOCK_ACCOUNTING] = "ACCOUNTING", [PP_BLOCK_END] = "END",
        [PP_BLOCK_EARLIER] = "EARLIER", [PP_BLOCK_TRACES] = "TRACES",         [PP_BLOCK_REQUESTS] = "REQUESTS",
        [PP_BLOCK_WAITS] = "WAITS",     [PP_BLOCK_DEFLATED] = "DEFLATED",
    };
    return type < sizeof names / sizeof names[0] && names[type] ? names[type] : "UNKNOWN";
}

/* Blocks lie side by side: what is between two of them could not be read. */
static void put_gap(struct pt_log_printer *printer, size_t at)
{
    if (at > printer->end)
        fprintf(printer->out, "%zu: %zu bytes cannot be read\n", printer->base + printer->end, at - printer->end);
}

static void print_block(void *data, const struct pt_segment *segment, const struct pp_log_block_header *header,
                        size_t at)
{
    struct pt_log_printer *printer = data;
    put_gap(printer, at);
    printer->segment = segment;
    if (at >= printer->end) /* not in a DEFLATED one, which has its place */
        printer->end = at + sizeof *header + header->length;
    printer->malformed = segment->losses.damaged_records;
    fprintf(printer->out, "%zu: %s (%" PRIu32 "), block %" PRIu32 ", %" PRIu32 " bytes\n", printer->base + at,
            block_name(header->type), header->type, header->sequence, header->length);
}

static void put_process(struct pt_log_printer *printer, const struct pt_log_process *process)
{
#define X(key, field)                                                                                                  \
    if (process->field.length) {                                                                                       \
        fputs("  " #field " ", printer->out);                                                                          \
        pt_log_put_text(printer, process->field);                                                                      \
        fputc('\n', printer->out);                                                                                     \
    }
    PT_PROCESS_TEXTS(X)
#undef X
#define X(key, field) fprintf(printer->out, "  " #field " %" PRIu64 "\n", process->field);
    PT_PROCESS_NUMBERS(X)
#undef X
    fprintf(printer->out, "  segment %" PRIu64 "\n", process->segment);
}

static void put_accounting(struct pt_log_printer *printer, const struct pt_accounting *accounting)
{
#define X(key, field)                                                                                                  \
    if (accounting->field)                                                                                             \
        fprintf(printer->out, "  " #field " %" PRIu64 "\n", accounting->field);
    PT_ACCOUNT_GROWING(X)
    PT_ACCOUNT_OTHERS(X)
#undef X
    fprintf(printer->out, "  difference_ns %" PRId64 "\n", accounting->difference_ns);
    for (unsigned i = 0; i < PP_REASON_COUNT; i++)
        if (accounting->reasons[i])
            fprintf(printer->out, "  %" PRIu64 " times: %s\n", accounting->reasons[i], pt_reason_text(i));
}

/* What the segment keeps of the block, when all of it has been read. */
static void print_block_end(void *data, const struct pt_segment *segment, const struct pp_log_block_header *header)
{
    struct pt_log_printer *printer = data;
    if (header->type == PP_BLOCK_PROCESS)
        put_process(printer, &segment->process);
    else if (header->type == PP_BLOCK_ACCOUNTING)
        put_accounting(printer, &segment->accounting);
    else if (header->type == PP_BLOCK_EARLIER)
        put_accounting(printer, &segment->earlier);
    else if (header->type == PP_BLOCK_END)
        fprintf(printer->out, "  at %" PRIu64 " reason %" PRIu32 "\n", segment->end_unix_ns, segment->end_reason);
    if (segment->losses.damaged_records > printer->malformed)
        fprintf(printer->out, "  %" PRIu64 " records cannot be read\n",
                segment->losses.damaged_records - printer->malformed);
}

static void put_module(struct pt_log_printer *printer, const struct pt_log_module *module)
{
    PT_AUTO_FREE char *build_id =
        pt_hex(module->build_id.data, module->build_id.length < 64 ? module->build_id.length : 64);
    fputs(" path ", printer->out);
    pt_log_put_string(printer, module->path);
    fprintf(printer->out, " text %#" PRIx64 " to %#" PRIx64 " in the file %#" PRIx64 " bias %#" PRIx64,
            module->text_start, module->text_end, module->text_file_offset, module->bias);
    fprintf(printer->out, " flags %#" PRIx32 " build id %s", module->flags, build_id);
}

static void print_definition(void *data, const struct pt_segment *segment, enum pt_table_kind kind, uint32_t id)
{
    struct pt_log_printer *printer = data;
    const void *item = pt_segment_find(segment, kind, id);
    const struct pt_log_code *code = item;
    const struct pt_log_node *node = item;
    const struct pt_log_thread *thread = item;
    fprintf(printer->out, "  %" PRIu32 ":", id);
    fputs(kind == PT_TABLE_LABELS || kind == PT_TABLE_THREADS || kind == PT_TABLE_MODULES ? "" : " ", printer->out);
    if (kind == PT_TABLE_STRINGS) {
        pt_log_put_string(printer, id);
    } else if (kind == PT_TABLE_MODULES) {
        put_module(printer, item);
    } else if (kind == PT_TABLE_CODES) {
        pt_log_put_string(printer, code->qualname);
        fputs(" file ", printer->out);
        pt_log_put_string(printer, code->file);
        fprintf(printer->out, " first line %" PRIu32, code->first_line);
    } else if (kind == PT_TABLE_FRAMES) {
        pt_log_put_frame(printer, id);
    } else if (kind == PT_TABLE_NODES) {
        fprintf(printer->out, "parent %" PRIu32 " frame %" PRIu32 " ", node->parent, node->frame);
        pt_log_put_frame(printer, node->frame);
    } else if (kind == PT_TABLE_THREADS) {
        pt_log_put_thread(printer, id);
        fprintf(printer->out, " start %" PRIu64 " flags %#" PRIx32, thread->start_unix_ns, thread->flags);
    } else {
        pt_log_put_labels(printer, id);
    }
    fputc('\n', printer->out);
}

static void print_samples(void *data, const struct pt_segment *segment, const struct pt_log_samples *samples)
{
    struct pt_log_printer *printer = data;
    (void)segment;
    fprintf(printer->out, "  from %" PRIu64 " for %" PRIu64 " ns\n", samples->start_unix_ns, samples->wall_ns);
    for (PT_EACH(const struct pt_log_sample, sample, samples)) {
        fprintf(printer->out, "  %" PRIu64 " samples %" PRIu64 " ns state %#" PRIx32, sample->count, sample->cpu_ns,
                sample->state);
        pt_log_put_thread(printer, sample->thread);
        pt_log_put_labels(printer, sample->labels);
        pt_log_put_stack(printer, sample->node);
        fputc('\n', printer->out);
    }
}

static void print_waits(void *data, const struct pt_log_waits *waits)
{
    struct pt_log_printer *printer = data;
    fprintf(printer->out, "  from %" PRIu64 " for %" PRIu64 " ns\n", waits->start_unix_ns, waits->wall_ns);
    for (uint32_t i = 0; i < waits->count; i++) {
        fprintf(printer->out, "  %" PRIu32 " times", waits->items[i].count);
        pt_log_put_stack(printer, waits->items[i].node);
        fputc('\n', printer->out);
    }
}

static void print_requests(void *data, const struct pt_segment *segment, const struct pt_log_requests *requests)
{
    struct pt_log_printer *printer = data;
    (void)segment;
    fprintf(printer->out, "  from %" PRIu64 " for %" PRIu64 " ns endpoint ", requests->start_unix_ns,
            requests->wall_ns);
    pt_log_put_string(printer, requests->endpoint);
    fprintf(printer->out, " %" PRIu64 " requests, %" PRIu64 " measured, %" PRIu64 " ns\n", requests->sums.count,
            requests->sums.measured, requests->sums.cpu_ns);
}

static void print_notice(void *data, const struct pt_segment *segment, uint64_t unix_ns, uint64_t severity,
                         struct pt_text text)
{
    struct pt_log_printer *printer = data;
    (void)segment;
    fprintf(printer->out, "  at %" PRIu64 " severity %" PRIu64 " ", unix_ns, severity);
    pt_log_put_text(printer, text);
    fputc('\n', printer->out);
}

static void print_traced(void *data, const struct pt_segment *segment, const struct pt_log_traced *sample)
{
    struct pt_log_printer *printer = data;
    PT_AUTO_FREE char *trace = pt_hex(sample->trace, sizeof sample->trace),
                      *span = pt_hex(sample->span, sizeof sample->span);
    (void)segment;
    fprintf(printer->out, "  at %" PRIu64 " %" PRIu64 " ns state %#" PRIx32 " trace %s span %s", sample->unix_ns,
            sample->cpu_ns, sample->state, trace, span);
    pt_log_put_thread(printer, sample->thread);
    pt_log_put_labels(printer, sample->labels);
    pt_log_put_stack(printer, sample->node);
    fputc('\n', printer->out);
}

static enum pt_read_result print_segment(struct pt_log_printer *printer, const void *data, size_t size, size_t *budget,
                                         size_t *end)
{
    const struct pt_segment_sink sink = {.data = printer,
                                         .samples = print_samples,
                                         .waits = print_waits,
                                         .requests = print_requests,
                                         .notice = print_notice,
                                         .traced = print_traced,
                                         .block = print_block,
                                         .block_end = print_block_end,
                                         .defined = print_definition};
    struct pt_segment segment;
    enum pt_read_result result = pt_segment_read(data, size, budget, &segment, &sink);
    if (result == PT_READ_OK)
        put_gap(printer, segment.end);
    *end = segment.end;
    pt_segment_free(&segment);
    return result;
}

enum pt_read_result pt_debug_log(FILE *out, const void *data, size_t size)
{
    struct pt_log_printer printer = {.out = out};
    size_t budget = pt_read_budget(size), end = 0;
    enum pt_read_result result;
    do {
        fprintf(out, "%zu: segment\n", printer.base);
        printer.end = sizeof(struct pp_log_file_header);
        result = print_segment(&printer, (const char *)data + printer.base, size - printer.base, &budget, &end);
        printer.base += result == PT_READ_OK ? end : 0;
    } while (result == PT_READ_OK && end && printer.base < size);
    if (result != PT_READ_OK)
        fprintf(out, "%zu: %s\n", printer.base, pt_read_result_text(result));
    pt_buffer_free(&printer.text);
    pt_buffer_free(&printer.shown);
    return printer.base ? PT_READ_OK : result;
}

int pt_cmd_debug_log(const struct pt_cli *cli)
{
    size_t size;
    if (cli->argument_count != 1)
        return pt_exit_with(PT_EXIT_USAGE, "usage: pyprof debug-log FILE");
    PT_AUTO_FREE char *data = pt_read_file(cli->arguments[0], SIZE_MAX - 1, &size);
    if (!data)
        return pt_exit_with(PT_EXIT_DATA, "%s: %s", cli->arguments[0], strerror(errno));
    enum pt_read_result result = pt_debug_log(stdout, data, size);
    if (result != PT_READ_OK)
        return pt_exit_with(PT_EXIT_DATA, "%s: %s", cli->arguments[0], pt_read_result_text(result));
    return PT_EXIT_OK;
}
