/* A code object that a thread's cache has is defined again as soon as it is another one, and only then. */
#include "preload/base/process.h"
#include "preload/capture/code_cache.h"
#include "preload/capture/slot_memory.h"
#include "unit.h"

#define UNITS 10

struct text {
    uintptr_t count, type, length, hash;
    uint64_t state;
    char ascii[64];
};
struct bytes {
    uintptr_t count, type, length, hash;
    char data[64];
};
struct code {
    uintptr_t count, type, units; /* as CPython begins them */
    uint32_t flags, first_line, first_traceable, version;
    uintptr_t filename, qualname, line_table, local_names;
    uint16_t instructions[UNITS];
};

static uintptr_t code_type;
static struct pp_python python;
static struct pp_slot slot;
static struct text name, other_name, file, other_file;
static struct bytes table, other_table;
static struct code code;
static uint64_t interpreter_id[1];
static uintptr_t interpreter = (uintptr_t)interpreter_id - 8;

static void make_text(struct text *text, const char *ascii, uintptr_t hash)
{
    *text = (struct text){.length = strlen(ascii), .hash = hash, .state = (1 | 8 | 16) << 2};
    memcpy(text->ascii, ascii, text->length);
}

void before_all(void)
{
    atomic_store(&pp_process.pid, getpid());
    python.layout = (struct pp_python_layout){
        .minor = 11,
        .interpreter = {.id = 8},
        .object_type = offsetof(struct code, type),
        .code = {.units = offsetof(struct code, units),
                 .flags = offsetof(struct code, flags),
                 .first_line = offsetof(struct code, first_line),
                 .first_traceable = offsetof(struct code, first_traceable),
                 .version = offsetof(struct code, version),
                 .filename = offsetof(struct code, filename),
                 .qualname = offsetof(struct code, qualname),
                 .line_table = offsetof(struct code, line_table),
                 .local_names = offsetof(struct code, local_names),
                 .instructions = offsetof(struct code, instructions),
                 .copy_size = offsetof(struct code, instructions)},
        .text = {.length = offsetof(struct text, length),
                 .hash = offsetof(struct text, hash),
                 .state = offsetof(struct text, state),
                 .ascii_data = offsetof(struct text, ascii),
                 .compact_data = offsetof(struct text, ascii),
                 .kind_shift = 2},
        .bytes = {.length = offsetof(struct bytes, length), .data = offsetof(struct bytes, data)},
    };
    python.code_type = (uintptr_t)&code_type;
    assert_true(pp_slot_memory_begin(&slot));
}

/* Begins with no code object known. */
static void make_code(void)
{
    make_text(&name, "work", 77);
    make_text(&other_name, "work", 77);
    make_text(&file, "a.py", 78);
    make_text(&other_file, "b.py", 79);
    table = other_table = (struct bytes){.length = 20, .data = "12345678901234567890"};
    code = (struct code){.type = (uintptr_t)&code_type,
                         .units = UNITS,
                         .first_line = 3,
                         .version = 5,
                         .filename = (uintptr_t)&file,
                         .qualname = (uintptr_t)&name,
                         .line_table = (uintptr_t)&table};
    atomic_fetch_add(&pp_capture.code_epoch, 1);
}

static void execute(uint32_t frame, int unit)
{
    slot.scratch->python[frame] =
        (struct pp_python_frame){(uintptr_t)&code, (uintptr_t)code.instructions + (uintptr_t)(unit * 2), 0x100000};
}

/* Resolves so many frames; returns how many code objects that defines. */
static unsigned resolve(uint32_t frames, uint32_t doubtful)
{
    unsigned defined = 0;
    assert_int_equal(pp_code_resolve(&python, interpreter, &slot, frames, doubtful, true), PP_REASON_NONE);
    for (const struct pp_record *record; (record = pp_ring_peek(&slot.ring)) != NULL; defined++) {
        assert_int_equal(record->type, PP_RECORD_CODE);
        pp_ring_release(&slot.ring, record);
    }
    return defined;
}

/* Resolves it, and again, the last time by safe copies. Returns how often it was defined, which is at first. */
static unsigned resolve_again(void)
{
    unsigned defined = resolve(1, 0);
    assert_int_equal(resolve(1, 0), 0);
    assert_int_equal(resolve(1, 1), 0);
    return defined;
}

static void check_what_all_have(void)
{
    make_code();
    execute(0, 4);
    assert_int_equal(resolve_again(), 1);
    code.first_line++;
    assert_int_equal(resolve_again(), 1);
    code.filename = (uintptr_t)&other_file;
    assert_int_equal(resolve_again(), 1);
    code.qualname = (uintptr_t)&other_name;
    assert_int_equal(resolve_again(), 1);
    code.line_table = (uintptr_t)&other_table;
    assert_int_equal(resolve_again(), 1);
    code.flags++; /* and what it does not differ by */
    assert_int_equal(resolve_again(), 0);
}

TEST(by_contents)
{
    python.layout.unique_version = false;
    check_what_all_have();
    other_name.hash++;
    assert_int_equal(resolve_again(), 1);
    other_name.hash = UINTPTR_MAX; /* not computed yet */
    assert_int_equal(resolve_again(), 1);
    other_name.ascii[3] = 'd';
    assert_int_equal(resolve_again(), 1);
    other_name.length++;
    assert_int_equal(resolve_again(), 1);
    for (unsigned i = 7; i < 20; i += 6) {
        other_table.data[i] = 'x';
        assert_int_equal(resolve_again(), 1);
    }
    other_table.length--;
    assert_int_equal(resolve_again(), 1);
    code.version++; /* there is none */
    assert_int_equal(resolve_again(), 0);
}

TEST(by_version)
{
    python.layout.unique_version = true;
    check_what_all_have();
    code.version++;
    assert_int_equal(resolve_again(), 1);
    (*interpreter_id)++; /* one that has ended had an equal code object here */
    assert_int_equal(resolve_again(), 1);
    /* a function that is made again and again, by turns for two files */
    code.version ^= (uint32_t)((uintptr_t)&file ^ (uintptr_t)&other_file);
    code.filename = (uintptr_t)&file;
    assert_int_equal(resolve_again(), 1);
}

/* Each frame has its own code unit, and is refused where that is outside the code. */
TEST(frames_of_one_function)
{
    make_code();
    for (uint32_t frame = 0; frame < 5; frame++)
        execute(frame, (int)frame - 1);
    for (unsigned round = 0; round < 3; round++) {
        assert_int_equal(resolve(5, round == 2 ? 2 : 0), round == 0);
        for (uint32_t frame = 0; frame < 5; frame++) {
            assert_int_equal(slot.scratch->resolved[frame].unit, (int)frame - 1);
            assert_int_equal(slot.scratch->resolved[frame].entry, slot.scratch->resolved[0].entry);
        }
    }
    for (int bad = -2; bad <= UNITS; bad += UNITS + 2) {
        execute(3, bad);
        assert_int_equal(pp_code_resolve(&python, interpreter, &slot, 5, 0, true), PP_REASON_PYTHON_TORN);
    }
    execute(3, UNITS - 1);
    assert_int_equal(resolve(5, 0), 0);
    /* a shorter one at the same address */
    code.first_line++;
    code.units = UNITS - 1;
    assert_int_equal(pp_code_resolve(&python, interpreter, &slot, 5, 0, true), PP_REASON_PYTHON_TORN);
    /* what is no code object any more is not trusted */
    code.first_line++;
    code.type = 1;
    code.qualname = code.line_table = 8;
    assert_int_equal(pp_code_resolve(&python, interpreter, &slot, 5, 0, true), PP_REASON_PYTHON_TORN);
}
