/* Every row of preload/cpython/layouts.c: it has each field that its version has and no other, and no two of them
 * contradict each other. What a row says is compared with interpreters in tests/bats/embedding.bats. */
#include "layout_fields.h"
#include "preload/capture/objects.h"
#include "preload/capture/python_frames.h"
#include "unit.h"

#define FOR_EACH_ROW(row)                                                                                              \
    for (unsigned minor = pp_python_first_minor(); minor <= pp_python_last_minor(); minor++)                           \
        for (unsigned free_threaded = 0; free_threaded < 2; free_threaded++)                                           \
            if ((row = pp_python_layout_of(minor, free_threaded)) != NULL)

TEST(each_version_has_a_row)
{
    assert_int_equal(pp_python_first_minor(), 8);
    assert_true(pp_python_last_minor() >= 15);
    for (unsigned minor = pp_python_first_minor(); minor <= pp_python_last_minor(); minor++) {
        assert_non_null(pp_python_layout_of(minor, false));
        assert_int_equal(pp_python_age_of(3, minor), PP_PYTHON_KNOWN);
    }
    assert_null(pp_python_layout_of(pp_python_first_minor() - 1, false));
    assert_null(pp_python_layout_of(pp_python_last_minor() + 1, false));
    assert_int_equal(pp_python_age_of(3, pp_python_first_minor() - 1), PP_PYTHON_TOO_OLD);
    assert_int_equal(pp_python_age_of(2, 15), PP_PYTHON_TOO_OLD);
    assert_int_equal(pp_python_age_of(3, pp_python_last_minor() + 1), PP_PYTHON_TOO_NEW);
    assert_int_equal(pp_python_age_of(4, 8), PP_PYTHON_TOO_NEW);
}

TEST(each_row_has_the_fields_of_its_version)
{
    const struct pp_python_layout *row;
    FOR_EACH_ROW(row)
    {
        uint8_t others[sizeof *row];
        memcpy(others, row, sizeof others);
        for (const struct layout_field *field = layout_fields; field < layout_fields + LAYOUT_FIELD_COUNT; field++) {
            unsigned value = layout_field(row, field);
            bool has = (field->rows & ROW_BIT(minor, free_threaded)) != 0;
            if ((value != 0) != has || (field->multiple && value % field->multiple != 0))
                fail_msg("3.%u%s: %s is %u", minor, free_threaded ? "t" : "", field->name, value);
            memset(others + field->at, 0, field->size);
        }
        for (unsigned i = 0; i < sizeof others; i++)
            if (others[i])
                fail_msg("the field at byte %u is not in layout_fields.h", i);
    }
}

TEST(fields_are_within_what_is_copied)
{
    const struct pp_python_layout *row;
    FOR_EACH_ROW(row)
    {
        const uint16_t copied[] = {
            row->thread_state.next,      row->thread_state.interp,
            row->thread_state.thread_id, row->thread_state.datastack_chunk,
            row->thread_state.top,       row->thread_state.datastack_top,
            row->thread_state.dict,      row->thread_state.root_cframe + 8u * !!row->cframe.previous,
            row->thread_state.cframe,    row->thread_state.base_frame,
            row->thread_state.context};
        for (unsigned i = 0; i < sizeof copied / sizeof *copied; i++)
            assert_true(copied[i] + 8u <= row->thread_state.copy_size);
        assert_true(row->thread_state.copy_size <= PP_THREAD_STATE_MAX);
        assert_true(row->frame.copy_size <= PP_FRAME_COPY_MAX && row->frame.code + 8u <= row->frame.copy_size &&
                    row->frame.previous + 8u <= row->frame.copy_size && row->frame.instr + 4u <= row->frame.copy_size &&
                    row->frame.owner < row->frame.copy_size);
        assert_true(row->code.line_table + 8u <= row->code.copy_size &&
                    row->code.first_traceable + 4u <= row->code.copy_size);
        assert_true(row->text.state + 4u <= PP_STR_HEADER_MAX && row->text.ascii_data <= PP_STR_HEADER_MAX);
        assert_true(row->dict.ma_values + 8u - row->object_type <= PP_DICT_COPY_MAX);
        assert_true(row->dict.ma_keys > row->object_type && row->dict_keys.dk_nentries < row->dict_keys.dk_indices &&
                    row->dict_keys.dk_indices <= 64);
        /* copy_keys in objects.c */
        assert_true(row->dict_keys.dk_kind < 16 && row->dict_keys.dk_log2_size < 16 &&
                    row->dict_keys.dk_log2_index_bytes < 16 && row->dict_keys.dk_size % 8 == 0);
        assert_true(row->frame.f_frame <= 7 * 8u);
        assert_true(row->awaits.byte < 2 && row->awaits.first <= row->awaits.last &&
                    row->awaits.last <= row->awaits.mask);
    }
}

TEST(each_thing_is_found_in_a_single_way)
{
    const struct pp_python_layout *row;
    FOR_EACH_ROW(row)
    {
        unsigned header = row->object_type + 8u;
        assert_int_equal(header, free_threaded ? 32 : 16);
        assert_int_equal(row->ob_size, header);
        assert_int_equal(row->minor, minor);
        assert_int_equal(row->free_threaded, free_threaded);
        assert_true(!row->frame.stackpointer != !row->frame.stacktop);
        assert_true(!row->generator.object != !row->generator.frame);
        assert_true(!row->code.bytecode != !row->code.instructions);
        assert_true(!row->dict_keys.dk_size != !row->dict_keys.dk_log2_size);
        assert_true(!row->runtime.current == row->tss_tstate);
        assert_true(!row->runtime.collecting || !row->interpreter.collecting);
        assert_true(!row->type.managed_dict == !row->instance.dict);
        assert_true(!row->awaits.mask == !!row->generator.frame_suspended_yield_from);
        assert_true((row->chain == PP_CHAIN_OBJECTS) == !row->generator.gi_frame_state);
        assert_true((row->chain == PP_CHAIN_CFRAME_FLAG || row->chain == PP_CHAIN_CFRAME_SHIM) ==
                    !!row->cframe.previous);
        assert_true(!row->state_varies || !row->published);
        if (row->chain == PP_CHAIN_OBJECTS)
            continue;
        assert_true(row->generator.gi_frame_state >= header && row->generator.gi_frame_state < row->generator.frame);
        assert_true(row->generator.frame_suspended < row->generator.frame_executing &&
                    row->generator.frame_executing < row->generator.frame_finished);
        assert_true(!row->generator.frame_suspended_yield_from ||
                    (row->generator.frame_suspended_yield_from > row->generator.frame_suspended &&
                     row->generator.frame_suspended_yield_from < row->generator.frame_executing));
    }
}
