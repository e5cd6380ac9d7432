#include "log_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define START_NS  1700000000000000000u
#define PERIOD_NS 10000000u

void fixture_append(struct fixture_bytes *bytes, const void *data, size_t length)
{
    if (bytes->length + length >= bytes->capacity) {
        bytes->capacity = 2 * (bytes->length + length) + 64;
        bytes->data = realloc(bytes->data, bytes->capacity);
        if (!bytes->data)
            abort();
    }
    if (length)
        memcpy(bytes->data + bytes->length, data, length);
    bytes->length += length;
}

void fixture_varint(struct fixture_bytes *bytes, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        fixture_append(bytes, &(unsigned char){(unsigned char)(value | 0x80)}, 1);
    fixture_append(bytes, &(unsigned char){(unsigned char)value}, 1);
}

static void append_record(struct fixture_bytes *payload, struct fixture_bytes *record)
{
    fixture_varint(payload, record->length);
    fixture_append(payload, record->data, record->length);
    free(record->data);
    *record = (struct fixture_bytes){0};
}

static void append_field(struct fixture_bytes *payload, uint64_t key, const void *data, size_t length)
{
    fixture_varint(payload, key);
    fixture_varint(payload, length);
    fixture_append(payload, data, length);
}

static void append_number(struct fixture_bytes *payload, uint64_t key, uint64_t value)
{
    struct fixture_bytes bytes = {0};
    fixture_varint(&bytes, value);
    append_field(payload, key, bytes.data, bytes.length);
    free(bytes.data);
}

static void append_text(struct fixture_bytes *payload, uint64_t key, const char *text)
{
    if (text)
        append_field(payload, key, text, strlen(text));
}

void fixture_write(const char *path, const void *data, size_t length)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, length, file) != length || fclose(file) != 0)
        abort();
}

void fixture_begin(struct fixture *log)
{
    *log = (struct fixture){0};
    struct pp_log_file_header header = {.version = PP_LOG_VERSION, .byte_order = PP_LOG_BYTE_ORDER};
    memcpy(header.magic, PP_LOG_MAGIC, sizeof header.magic);
    fixture_append(&log->file, &header, sizeof header);
}

void fixture_end(struct fixture *log)
{
    free(log->file.data);
    *log = (struct fixture){0};
}

void fixture_block(struct fixture *log, uint32_t type, const void *payload, size_t length)
{
    struct pp_log_block_header header = {.type = type, .length = (uint32_t)length, .sequence = log->sequence++};
    const uint32_t words[] = {header.type, header.length, header.sequence};
    uLong crc = crc32(0, (const Bytef *)words, sizeof words);
    header.crc32 = (uint32_t)(length ? crc32(crc, payload, (uInt)length) : crc);
    fixture_append(&log->file, &header, sizeof header);
    fixture_append(&log->file, payload, length);
}

static void put_block(struct fixture *log, uint32_t type, struct fixture_bytes *payload)
{
    fixture_block(log, type, payload->data, payload->length);
    free(payload->data);
}

void fixture_process(struct fixture *log, const struct fixture_process *process)
{
    fixture_child(log, process, &(struct fixture_origin){0, 0, NULL, NULL});
}

struct fixture fixture_of(const struct fixture_process *process)
{
    struct fixture log;
    fixture_begin(&log);
    fixture_process(&log, process);
    return log;
}

void fixture_child(struct fixture *log, const struct fixture_process *process, const struct fixture_origin *origin)
{
    static const char command[] = "python\0app.py\0--name\0two words";
    struct fixture_bytes payload = {0};
    append_text(&payload, PP_PROCESS_RUN, process->run);
    append_text(&payload, PP_PROCESS_INSTANCE, process->instance);
    append_number(&payload, PP_PROCESS_SEGMENT, process->segment);
    append_number(&payload, PP_PROCESS_PID, process->pid);
    append_number(&payload, PP_PROCESS_PPID, origin->ppid);
    if (origin->group)
        append_number(&payload, PP_PROCESS_GROUP, origin->group);
    append_text(&payload, PP_PROCESS_BOOT_ID, origin->boot_id);
    append_text(&payload, PP_PROCESS_PID_NAMESPACE, origin->pid_namespace);
    append_number(&payload, PP_PROCESS_START_UNIX_NS, process->start_unix_ns ? process->start_unix_ns : START_NS);
    append_number(&payload, PP_PROCESS_PERIOD_NS, PERIOD_NS);
    append_field(&payload, PP_PROCESS_COMMAND_LINE, command, sizeof command);
    append_text(&payload, PP_PROCESS_EXECUTABLE, process->executable);
    append_text(&payload, PP_PROCESS_CWD, process->cwd);
    append_text(&payload, PP_PROCESS_PYTHON_VERSION, process->python_version);
    append_text(&payload, 4242, "a key that nobody knows");
    put_block(log, PP_BLOCK_PROCESS, &payload);
}

/* A block with one definition. */
static uint32_t put_definition(struct fixture *log, uint32_t type, uint32_t *count, struct fixture_bytes *record)
{
    struct fixture_bytes payload = {0};
    fixture_varint(&payload, ++*count);
    append_record(&payload, record);
    put_block(log, type, &payload);
    return *count;
}

uint32_t fixture_string(struct fixture *log, const char *text)
{
    struct fixture_bytes record = {0};
    if (!text)
        return 0;
    fixture_append(&record, text, strlen(text));
    return put_definition(log, PP_BLOCK_STRINGS, &log->strings, &record);
}

uint32_t fixture_module(struct fixture *log, const char *path, uint64_t bias, uint64_t start, uint64_t end,
                        uint32_t flags, const void *build_id, size_t build_id_length)
{
    struct fixture_bytes record = {0};
    fixture_varint(&record, fixture_string(log, path));
    fixture_varint(&record, bias);
    fixture_varint(&record, start);
    fixture_varint(&record, end);
    fixture_varint(&record, start - bias);
    fixture_varint(&record, flags);
    fixture_varint(&record, build_id_length);
    fixture_append(&record, build_id, build_id_length);
    return put_definition(log, PP_BLOCK_MODULES, &log->modules, &record);
}

uint32_t fixture_code(struct fixture *log, const char *qualname, const char *file, uint32_t first_line)
{
    struct fixture_bytes record = {0};
    fixture_varint(&record, fixture_string(log, qualname));
    fixture_varint(&record, fixture_string(log, file));
    fixture_varint(&record, first_line);
    fixture_append(&record, "left over", 9);
    return put_definition(log, PP_BLOCK_CODES, &log->codes, &record);
}

uint32_t fixture_native(struct fixture *log, uint32_t module, uint64_t address, const char *symbol, uint64_t offset)
{
    struct fixture_bytes record = {0};
    fixture_varint(&record, PP_FRAME_NATIVE);
    fixture_varint(&record, module);
    fixture_varint(&record, address);
    fixture_varint(&record, fixture_string(log, symbol));
    fixture_varint(&record, offset);
    return put_definition(log, PP_BLOCK_FRAMES, &log->frames, &record);
}

uint32_t fixture_python(struct fixture *log, uint32_t code, uint32_t line)
{
    struct fixture_bytes record = {0};
    fixture_varint(&record, PP_FRAME_PYTHON);
    fixture_varint(&record, code);
    fixture_varint(&record, line);
    return put_definition(log, PP_BLOCK_FRAMES, &log->frames, &record);
}

uint32_t fixture_python_at(struct fixture *log, uint32_t code, const uint32_t position[4])
{
    struct fixture_bytes record = {0};
    fixture_varint(&record, PP_FRAME_PYTHON);
    fixture_varint(&record, code);
    for (int i = 0; i < 4; i++)
        fixture_varint(&record, position[i]);
    return put_definition(log, PP_BLOCK_FRAMES, &log->frames, &record);
}

uint32_t fixture_pseudo(struct fixture *log, const char *text)
{
    struct fixture_bytes record = {0};
    fixture_varint(&record, PP_FRAME_PSEUDO);
    fixture_varint(&record, fixture_string(log, text));
    return put_definition(log, PP_BLOCK_FRAMES, &log->frames, &record);
}

uint32_t fixture_node(struct fixture *log, uint32_t parent, uint32_t frame)
{
    struct fixture_bytes payload = {0};
    fixture_varint(&payload, ++log->nodes);
    fixture_varint(&payload, log->nodes - parent);
    fixture_varint(&payload, frame);
    put_block(log, PP_BLOCK_NODES, &payload);
    return log->nodes;
}

uint32_t fixture_thread(struct fixture *log, uint64_t tid, const char *name)
{
    return fixture_thread_flags(log, tid, name, log->threads ? 0 : PP_THREAD_MAIN);
}

uint32_t fixture_thread_flags(struct fixture *log, uint64_t tid, const char *name, uint64_t flags)
{
    struct fixture_bytes record = {0};
    fixture_varint(&record, tid);
    fixture_varint(&record, fixture_string(log, name));
    fixture_varint(&record, START_NS);
    fixture_varint(&record, flags);
    return put_definition(log, PP_BLOCK_THREADS, &log->threads, &record);
}

uint32_t fixture_labels(struct fixture *log, const char *key, const char *value)
{
    return fixture_label_set(log, (const char *const[]){key, value, NULL});
}

uint32_t fixture_label_set(struct fixture *log, const char *const *pairs)
{
    struct fixture_bytes record = {0};
    for (; *pairs; pairs++)
        fixture_varint(&record, fixture_string(log, *pairs));
    return put_definition(log, PP_BLOCK_LABELS, &log->labels, &record);
}

void fixture_samples_at(struct fixture *log, uint64_t start_ns, uint64_t wall_ns,
                        const uint64_t (*samples)[FIXTURE_SAMPLE_FIELDS], uint32_t count)
{
    struct fixture_bytes payload = {0};
    fixture_varint(&payload, start_ns);
    fixture_varint(&payload, wall_ns);
    for (uint32_t i = 0; i < count; i++) {
        struct fixture_bytes record = {0};
        for (unsigned k = 0; k < FIXTURE_SAMPLE_FIELDS; k++)
            fixture_varint(&record, samples[i][k]);
        append_record(&payload, &record);
    }
    put_block(log, PP_BLOCK_SAMPLES, &payload);
}

void fixture_sample(struct fixture *log, uint32_t thread, uint32_t node, uint32_t labels, uint32_t state,
                    uint64_t count, uint64_t cpu_ns)
{
    const uint64_t sample[][FIXTURE_SAMPLE_FIELDS] = {{thread, node, labels, state, count, cpu_ns}};
    fixture_samples_at(log, START_NS, 1000000000u, sample, 1);
}

void fixture_traced(struct fixture *log, uint64_t start_ns, const struct fixture_traced *samples, uint32_t count)
{
    struct fixture_bytes payload = {0};
    fixture_varint(&payload, start_ns);
    for (uint32_t i = 0; i < count; i++) {
        const struct fixture_traced *sample = &samples[i];
        const uint64_t ids[] = {0, sample->trace, sample->span};
        struct fixture_bytes record = {0};
        int64_t after = (int64_t)(sample->unix_ns - start_ns);
        fixture_varint(&record, (uint64_t)after << 1 ^ (uint64_t)(after >> 63));
        fixture_varint(&record, sample->thread);
        fixture_varint(&record, sample->node);
        fixture_varint(&record, sample->labels);
        fixture_varint(&record, sample->state);
        fixture_varint(&record, sample->cpu_ns);
        for (unsigned k = 0; k < 3; k++)
            for (int shift = 56; shift >= 0; shift -= 8)
                fixture_append(&record, &(unsigned char){(unsigned char)(ids[k] >> shift)}, 1);
        append_record(&payload, &record);
    }
    put_block(log, PP_BLOCK_TRACES, &payload);
}

void fixture_accounting(struct fixture *log, const struct fixture_account *accounts)
{
    struct fixture_bytes payload = {0};
    for (; accounts->key; accounts++) {
        uint64_t value = accounts->value;
        if (accounts->key == PP_ACCOUNT_DIFFERENCE_NS)
            value = value << 1 ^ (uint64_t)((int64_t)value >> 63);
        append_number(&payload, accounts->key, value);
    }
    put_block(log, PP_BLOCK_ACCOUNTING, &payload);
}

void fixture_notice(struct fixture *log, uint64_t severity, const char *text)
{
    struct fixture_bytes payload = {0};
    fixture_varint(&payload, START_NS);
    fixture_varint(&payload, severity);
    fixture_append(&payload, text, strlen(text));
    put_block(log, PP_BLOCK_NOTICE, &payload);
}

void fixture_exit(struct fixture *log)
{
    struct fixture_bytes payload = {0};
    fixture_varint(&payload, START_NS + 1000000000u);
    fixture_varint(&payload, PP_END_EXIT);
    put_block(log, PP_BLOCK_END, &payload);
}

void fixture_example(struct fixture *log, uint64_t pid, uint64_t bias)
{
    static const unsigned char build_id[] = {0xab, 0xcd, 0xef, 0x01, 0x23};
    char instance[32];
    snprintf(instance, sizeof instance, "instance-%llu", (unsigned long long)pid);
    fixture_begin(log);
    fixture_process(
        log, &(struct fixture_process){"run-1", instance, "/srv/app", "3.11.2", "/opt/py/bin/python", 0, pid, 0});
    uint32_t python = fixture_module(log, "/opt/py/bin/python", bias, bias + 0x1000, bias + 0x9000,
                                     PP_MODULE_MAIN | PP_MODULE_PYTHON, build_id, sizeof build_id);
    uint32_t extension =
        fixture_module(log, "/srv/venv/lib/libfoo.so", bias + 0x100000, bias + 0x101000, bias + 0x109000, 0, NULL, 0);
    uint32_t main_code = fixture_code(log, "main", "/srv/app/app.py", 10);
    uint32_t fib_code = fixture_code(log, "fib", "/srv/venv/lib/python3.11/site-packages/numbers/fib.py", 3);
    uint32_t thread = fixture_thread(log, pid, "MainThread");
    uint32_t worker = fixture_thread(log, pid + 1, "worker;1");
    uint32_t labels = fixture_labels(log, "endpoint", "/index");

    uint32_t start = fixture_node(log, 0, fixture_native(log, python, bias + 0x1234, "_start", 4));
    uint32_t main_node = fixture_node(log, start, fixture_python(log, main_code, 12));
    uint32_t fib = fixture_node(log, main_node, fixture_python(log, fib_code, 4));
    uint32_t fib_again = fixture_node(log, fib, fixture_python_at(log, fib_code, (const uint32_t[]){5, 5, 7, 20}));
    uint32_t sum = fixture_node(log, fib_again, fixture_native(log, extension, bias + 0x102000, "sum_squares", 16));
    uint32_t nameless = fixture_node(log, main_node, fixture_native(log, extension, bias + 0x103456, NULL, 0));
    uint32_t unsampled = fixture_node(log, 0, fixture_pseudo(log, "[unsampled]"));

    fixture_sample(log, thread, main_node, 0, PP_STATE_HOLDS_GIL | PP_STATE_GIL_KNOWN, 1, 10000000);
    fixture_sample(log, thread, fib_again, 0, PP_STATE_HOLDS_GIL | PP_STATE_GIL_KNOWN, 2, 20000000);
    fixture_sample(log, thread, sum, labels, PP_STATE_GC_KNOWN | PP_STATE_GC, 3, 30000000);
    fixture_sample(log, worker, fib, 0, PP_STATE_HOLDS_GIL | PP_STATE_GIL_KNOWN, 2, 20000000);
    fixture_sample(log, worker, nameless, 0, PP_STATE_GIL_KNOWN, 1, 15000000);
    fixture_sample(log, 0, unsampled, 0, 0, 0, 5000000);
    fixture_traced(log, START_NS, &(struct fixture_traced){START_NS + 5, 30000000, 1, 2, thread, sum, labels, 0}, 1);
    fixture_notice(log, 0, "only information");
    fixture_accounting(log, (const struct fixture_account[]){
                                {PP_ACCOUNT_END_UNIX_NS, START_NS + 1000000000u},
                                {PP_ACCOUNT_WALL_NS, 1000000000u},
                                {PP_ACCOUNT_CPU_NS, FIXTURE_SAMPLES_NS + FIXTURE_PENDING_NS + FIXTURE_OWN_NS - 1000},
                                {PP_ACCOUNT_SAMPLED_NS, 95000000},
                                {PP_ACCOUNT_UNSAMPLED_NS, 5000000},
                                {PP_ACCOUNT_PENDING_NS, FIXTURE_PENDING_NS},
                                {PP_ACCOUNT_OWN_NS, FIXTURE_OWN_NS},
                                {PP_ACCOUNT_DIFFERENCE_NS, (uint64_t)-1000},
                                {PP_ACCOUNT_SAMPLES, 9},
                                {PP_ACCOUNT_THREADS, 2},
                                {0, 0},
                            });
    fixture_exit(log);
}
