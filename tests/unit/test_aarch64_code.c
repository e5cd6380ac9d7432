/* What the library reads out of AArch64's instructions, and of addresses that are signed: on any processor. Encodings
 * are those of GNU as. */
#include "preload/arch/aarch64/undescribed.h"
#include "unit.h"

static const uint8_t *code_of(const uint32_t *instructions)
{
    return (const uint8_t *)instructions;
}

TEST(jumps_and_calls)
{
    static const struct {
        uint32_t instruction;
        int64_t distance; /* 0: it is none */
    } known[] = {
        {0x14000002, 8},  {0x17ffffff, -4},        {0x54000040, 8},          {0x54ffffe1, -4}, {0xb4000040, 8},
        {0x35ffffe3, -4}, {0x36080040, 8},         {0xb77fffe5, -4},         {0x94000002, 0},  {0xd65f03c0, 0},
        {0xd503201f, 0},  {0x15ffffff, 0x7fffffc}, {0x16000000, -0x8000000},
    };
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        const uint8_t *code = code_of(&known[i].instruction);
        uintptr_t at = 0x10000000, target = known[i].distance ? at + (uintptr_t)known[i].distance : 0;
        assert_int_equal(pp_jump_target(code, at), target);
        assert_int_equal(pp_jump_target(code, at + 2), 0);
    }
    uint32_t call = 0x97fffffe; /* bl .-8 */
    assert_true(pp_calls(code_of(&call), 0x1000, 0xff8));
    assert_false(pp_calls(code_of(&call), 0x1000, 0xffc));
    assert_false(pp_calls(code_of(&call), 0x1001, 0xff9));
}

TEST(variables_and_the_stack)
{
    uintptr_t variable;
    static const uint32_t load[] = {0xb0000001, 0xf9400c20}, other[] = {0xb0000001, 0xf9400c40},
                          back[] = {0xf0ffffe2, 0xf9400440}, moves[] = {0x8b2563ff, 0x8b0503bd},
                          differ[] = {0x8b2563ff, 0x8b0603bd};
    assert_true(pp_load_of_variable(code_of(load), 0x400ff0, &variable)); /* adrp x1, 1 page on; ldr x0, [x1, #24] */
    assert_int_equal(variable, 0x401018);
    assert_true(pp_load_of_variable(code_of(back), 0x400000, &variable)); /* adrp x2, 1 page back; ldr x0, [x2, #8] */
    assert_int_equal(variable, 0x3ff008);
    assert_false(pp_load_of_variable(code_of(other), 0x400ff0, &variable)); /* another register */
    assert_true(pp_moves_stack(code_of(moves)));                            /* add sp, sp, x5; add x29, x29, x5 */
    assert_false(pp_moves_stack(code_of(differ)));
}

TEST(epilogues)
{
    static const struct {
        uint32_t instruction;
        enum pp_epilogue_kind kind;
        uint8_t value;
    } known[] = {
        {0xd65f03c0, PP_EPILOGUE_RETURN, 0},     {0xd65f0bff, PP_EPILOGUE_RETURN, 0}, /* ret; retaa */
        {0xd50323bf, PP_EPILOGUE_ADD, 0},        {0x910083ff, PP_EPILOGUE_ADD, 32},   /* autiasp; add sp, sp, #32 */
        {0xa8c17bfd, PP_EPILOGUE_POP_FRAME, 16}, {0xa8cf7bfd, PP_EPILOGUE_POP_FRAME, 240},
        {0xa8d07bfd, PP_EPILOGUE_NONE, 0},       {0x914007ff, PP_EPILOGUE_NONE, 0}, /* too far */
        {0x91000421, PP_EPILOGUE_NONE, 0},       {0xd63f0060, PP_EPILOGUE_NONE, 0},
    };
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        struct pp_epilogue_step step = pp_epilogue_step(code_of(&known[i].instruction));
        assert_int_equal(step.kind, known[i].kind);
        assert_int_equal(step.value, known[i].value);
        assert_int_equal(step.size, known[i].kind == PP_EPILOGUE_NONE ? 0 : 4);
    }
}

/* As GNU ld makes them: usual ones, with -z force-bti, with -z pac-plt, with both. The first entry is as the others,
 * after it has pushed two registers. */
static const uint8_t sizes[] = {16, 20, 20, 24}; /* of these a nop makes 24 */
static const uint32_t stubs[][6] = {
    {0x90000090, 0xf9400a11, 0x91004210, 0xd61f0220, 0, 0},
    {0xd503245f, 0x90000090, 0xf9400a11, 0x91004210, 0xd61f0220, 0xd503201f},
    {0x90000090, 0xf9400a11, 0x91004210, 0xd503219f, 0xd61f0220, 0xd503201f},
    {0xd503245f, 0x90000090, 0xf9400a11, 0x91004210, 0xd503219f, 0xd61f0220},
};

TEST(entries_of_linkage_tables)
{
    uint8_t around[PP_UNDESCRIBED_BEFORE + PP_UNDESCRIBED_BYTES];
    const uint32_t push = 0xa9bf7bf0; /* stp x16, x30, [sp, #-16]! */
    for (unsigned i = 0; i < 4; i++) {
        uint8_t size = 0, expected = sizes[i];
        assert_int_equal(pp_stub_slot(code_of(stubs[i]), 0x400100, &size), 0x410010);
        assert_int_equal(size, expected);
        /* from each of its instructions, and from none before or after it */
        for (int at = -4; at <= expected; at += 4) {
            memset(around, 0, sizeof around);
            if (PP_UNDESCRIBED_BEFORE - at >= 0)
                memcpy(around + PP_UNDESCRIBED_BEFORE - at, stubs[i], sizeof stubs[i]);
            struct pp_undescribed found = pp_undescribed(around, 0x1000);
            bool inside = at >= 0 && at < expected;
            assert_int_equal(found.kind, inside ? PP_CODE_STUB : PP_CODE_OTHER);
            uintptr_t here = 0x1000u + PP_UNDESCRIBED_BEFORE, stub = here - (unsigned)at;
            assert_true(!inside || (found.start >= stub && found.start <= here && found.end > here &&
                                    found.end <= stub + expected));
            if (!inside || stubs[i][0] == PP_CODE_BTI_C)
                continue;
            memcpy(around + PP_UNDESCRIBED_BEFORE - at - 4, &push, sizeof push);
            assert_int_equal(pp_undescribed(around, 0x1000).kind, PP_CODE_FIRST_STUB);
        }
    }
}

TEST(what_a_handler_returns_to)
{
    static const uint32_t restorer[] = {0xd503201f, 0xd2801168, 0xd4000001};
    uint8_t around[PP_UNDESCRIBED_BYTES];
    for (int at = -4; at <= 12; at += 4) { /* the instruction in question is so far from the nop */
        memset(around, 0, sizeof around);
        memcpy(around + PP_UNDESCRIBED_BEFORE - at, restorer, sizeof restorer);
        struct pp_undescribed found = pp_undescribed(around, 0x1000);
        uintptr_t nop = 0x1000u + (uintptr_t)(PP_UNDESCRIBED_BEFORE - at);
        bool inside = at >= 0 && at < 12;
        assert_int_equal(found.kind, inside ? PP_CODE_RESTORER : PP_CODE_OTHER);
        assert_true(!inside || (found.start == nop && found.end == nop + 12));
    }
}

TEST(signed_return_addresses)
{
    assert_int_equal(pp_return_address(0x0000aaaab5d01234), 0xaaaab5d01234);
    assert_int_equal(pp_return_address(0x4a51aaaab5d01234), 0xaaaab5d01234);
    assert_int_equal(pp_return_address(0xff7faaaab5d01234), 0xaaaab5d01234);
}
