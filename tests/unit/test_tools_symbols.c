/* Names by build-id, from this test's own executable, and starts of functions that have none. */
#include "profile_fixture.h"
#include "tools/model/frame_text.h"
#include "tools/symbols/callers.h"
#include "tools/symbols/eh_frame_hdr.h"
#include "tools/symbols/symbols.h"
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <link.h>

#define NOWHERE 0x10u /* an address that no function has */

/* Global, so that no optimiser clones or drops it. */
int pyprof_test_named_function(int value);
int pyprof_test_named_function(int value)
{
    return value * 3 + (int)getpid();
}

static struct {
    char path[4096];
    uint64_t bias, build_id_length;
    unsigned char build_id[64];
} self;

static int note_first(struct dl_phdr_info *info, size_t size, void *bias)
{
    (void)size;
    *(uint64_t *)bias = info->dlpi_addr;
    return 1;
}

static Elf *open_self(int *descriptor)
{
    elf_version(EV_CURRENT);
    *descriptor = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    return elf_begin(*descriptor, ELF_C_READ, NULL);
}

void before_all(void)
{
    int descriptor;
    assert_true(readlink("/proc/self/exe", self.path, sizeof self.path - 1) > 0);
    dl_iterate_phdr(note_first, &self.bias);
    Elf *elf = open_self(&descriptor);
    const void *bytes = NULL;
    ssize_t length = dwelf_elf_gnu_build_id(elf, &bytes);
    if (length > 0 && length <= (ssize_t)sizeof self.build_id) {
        memcpy(self.build_id, bytes, (size_t)length);
        self.build_id_length = (uint64_t)length;
    }
    elf_end(elf);
    close(descriptor);
}

/* A profile with one nameless frame in this program, resolved; the caller frees it. */
static struct pt_profile *resolved(uint64_t address, bool right_build_id, uint64_t offset)
{
    struct pt_profile *profile = pt_profile_new(NULL);
    struct pt_buffer hex = {0};
    for (uint64_t i = 0; i < self.build_id_length; i++)
        pt_buffer_format(&hex, "%02x", self.build_id[i]);
    if (!right_build_id)
        hex.data[0] = hex.data[0] == '0' ? '1' : '0';
    uint32_t module = pt_add_module(profile, &(struct pt_module){.path = pt_intern_text(profile, self.path),
                                                                 .build_id = pt_intern_text(profile, hex.data)});
    pt_buffer_free(&hex);
    pt_add_frame(profile, &(struct pt_frame){
                              .kind = PP_FRAME_NATIVE, .subject = module, .address = address, .symbol_offset = offset});
    pt_symbols_resolve(profile);
    return profile;
}

TEST(a_function_of_the_right_file_gets_its_name)
{
    if (!self.build_id_length)
        skip();
    uint64_t start = (uint64_t)(uintptr_t)pyprof_test_named_function - self.bias;
    AUTO_PROFILE *profile = resolved(start + 2, true, 0);
    assert_string_equal(pt_string(profile, profile->frames.items[0].symbol), "pyprof_test_named_function");
    assert_int_equal(profile->frames.items[0].symbol_offset, 2);
}

TEST(another_build_is_not_believed)
{
    if (!self.build_id_length)
        skip();
    uint64_t start = (uint64_t)(uintptr_t)pyprof_test_named_function - self.bias;
    AUTO_PROFILE *profile = resolved(start, false, 0);
    assert_int_equal(profile->frames.items[0].symbol, 0);
    assert_int_equal(profile->frames.items[0].symbol_offset, 0);
}

TEST(nameless_functions_go_by_their_start)
{
    AUTO_PROFILE *profile = pt_profile_new(NULL);
    uint32_t module = pt_add_module(profile, &(struct pt_module){.path = pt_intern_text(profile, "/lib/libx.so.1")});
    struct pt_frame frame = {.kind = PP_FRAME_NATIVE, .subject = module, .address = 0x1234, .symbol_offset = 0x34};
    uint32_t number = pt_add_frame(profile, &frame);
    PT_AUTO_BUFFER text = {0};
    pt_frame_text(&text, profile, number, false);
    assert_string_equal(text.data, "0x1200 (libx.so.1)");
    pt_buffer_clear(&text);
    pt_frame_text(&text, profile, number, true);
    assert_string_equal(text.data, "0x1234 (libx.so.1)");
}

void _fini(void); /* the C runtime's */

TEST(unwind_tables_tell_where_functions_begin)
{
    int descriptor;
    uint64_t start = (uint64_t)(uintptr_t)pyprof_test_named_function - self.bias, found = 0;
    Elf *elf = open_self(&descriptor);
    assert_true(pt_eh_frame_function_start(elf, start, &found));
    assert_int_equal(found, start);
    assert_true(pt_eh_frame_function_start(elf, start + 2, &found));
    assert_int_equal(found, start);
    assert_false(pt_eh_frame_function_start(elf, NOWHERE, &found));
    /* after the last function: no unwind information says what it is */
    assert_false(pt_eh_frame_function_start(elf, (uint64_t)(uintptr_t)_fini - self.bias, &found));
    elf_end(elf);
    close(descriptor);
}

static uint32_t native(struct pt_profile *profile, const char *module, uint64_t address, const char *symbol)
{
    const struct pt_module in = {.path = pt_intern_text(profile, module)};
    return pt_add_frame(profile, &(struct pt_frame){.kind = PP_FRAME_NATIVE,
                                                    .subject = pt_add_module(profile, &in),
                                                    .address = address,
                                                    .symbol_offset = address % 16,
                                                    .symbol = pt_intern_text(profile, symbol)});
}

/* A stack of three frames, the first two of which have names. */
static void add_stack(struct pt_profile *profile, const uint32_t frames[3], uint64_t ns)
{
    uint32_t node = 0;
    for (unsigned i = 0; i < 3; i++)
        node = pt_add_node(profile, node, frames[i]);
    pt_add_sample(profile, &(struct pt_sample){.node = node, .count = 1, .cpu_ns = ns});
}

static void assert_text(const struct pt_profile *profile, uint32_t frame, const char *wanted)
{
    PT_AUTO_BUFFER text = {0};
    pt_frame_text(&text, profile, frame, false);
    assert_string_equal(text.data, wanted);
}

TEST(functions_without_a_name_have_their_callers)
{
    AUTO_PROFILE *profile = pt_profile_new(NULL);
    uint32_t deflate = native(profile, "/lib/libz.so.1", 0x100, "deflate.part.0"),
             inflate = native(profile, "/lib/libz.so.1", 0x200, "inflate"),
             other = native(profile, "/lib/libc.so.6", 0x300, "qsort"),
             one = native(profile, "/lib/libz.so.1", 0x4974, ""), again = native(profile, "/lib/libz.so.1", 0x4971, ""),
             two = native(profile, "/lib/libz.so.1", 0x5002, ""), many = native(profile, "/lib/libz.so.1", 0x6003, ""),
             called_back = native(profile, "/lib/libz.so.1", 0x7004, "");
    add_stack(profile, (const uint32_t[]){other, deflate, one}, 10);
    add_stack(profile, (const uint32_t[]){deflate, one, again}, 10);
    add_stack(profile, (const uint32_t[]){other, deflate, two}, 40);
    add_stack(profile, (const uint32_t[]){other, inflate, two}, 60);
    for (unsigned i = 0; i < 3; i++)
        add_stack(profile, (const uint32_t[]){deflate, i ? native(profile, "/lib/libz.so.1", i, "x") : inflate, many},
                  10);
    profile->frames.items[native(profile, "/lib/libz.so.1", 2, "x")].symbol = pt_intern_text(profile, "y");
    add_stack(profile, (const uint32_t[]){deflate, other, called_back}, 10);
    pt_symbols_name_callers(profile);
    assert_text(profile, one, "deflate → 0x4970 (libz.so.1)");
    assert_text(profile, again, "deflate → 0x4970 (libz.so.1)"); /* of one function, at another address */
    assert_text(profile, two, "inflate, … → 0x5000 (libz.so.1)");
    assert_text(profile, many, "0x6000 (libz.so.1)"); /* none of three leads to half of it */
    assert_text(profile, called_back, "0x7000 (libz.so.1)");
    assert_text(profile, inflate, "inflate (libz.so.1)");
}
