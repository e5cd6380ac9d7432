/* The rows of preload/frameworks are well formed: who adds one learns here what is wrong with it. */
#include "preload/capture/slot.h"
#include "preload/labels/source_modules.h"
#include "unit.h"

#define NAME_MAX_OF_RULES 64 /* capture/frame_rules.c */

static const struct pp_step *steps_of(const struct pp_source *row)
{
    return (const struct pp_step *)&row->ways;
}

static bool is_named(const char *text)
{
    const char *colon = text ? strchr(text, ':') : NULL;
    return colon && colon > text && colon[1] && !strchr(colon + 1, ':') && strlen(colon + 1) < PP_NAME_MAX &&
           (size_t)(colon - text) < PP_NAME_MAX;
}

static void check_function(const struct pp_function *function)
{
    const char *file = function->file.characters, *suffix = file + function->file.length - 3;
    print_message("%s of %s\n", function->qualname.characters, file);
    assert_true(function->file.length > 3 && strcmp(suffix, ".py") == 0);
    assert_true(function->file.length <= NAME_MAX_OF_RULES && function->qualname.length <= NAME_MAX_OF_RULES);
    assert_int_equal(function->file.length, strlen(file));
    assert_int_equal(function->qualname.length, strlen(function->qualname.characters));
    bool of_row = function->rule == PP_FRAME_SOURCE || function->rule == PP_FRAME_JOB;
    assert_true(!of_row || (function->local && !function->second));
}

static void check_step(const struct pp_step *step)
{
    bool by_class = step->kind == PP_STEP_SLOT || step->kind == PP_STEP_INSTANCE || step->kind == PP_STEP_ENTRY ||
                    step->kind == PP_STEP_METHOD || step->kind == PP_STEP_FUNCTION;
    bool by_name = step->kind == PP_STEP_SLOT || step->kind == PP_STEP_ATTRIBUTE || step->kind == PP_STEP_NAMED;
    assert_true(by_class ? is_named(step->of) : !step->of || (step->kind == PP_STEP_ATTRIBUTE && is_named(step->of)));
    assert_int_equal(by_name, step->name != NULL);
    assert_true(!step->name || strlen(step->name) < PP_NAME_MAX);
    assert_true(step->missing != PP_MISSING_STAYS || step->kind == PP_STEP_SLOT || step->kind == PP_STEP_METHOD);
}

TEST(a_row_says_where_it_begins_and_what_it_leads_to)
{
    for (unsigned i = 0; i < pp_source_count; i++) {
        const struct pp_source *row = &pp_sources[i];
        bool by_frame = false;
        print_message("%s\n", row->title ?: row->module);
        assert_true(row->module && !strchr(row->module, ':') && strlen(row->module) < PP_NAME_MAX);
        assert_true(!row->variable || is_named(row->variable));
        assert_true(!row->version || is_named(row->version));
        for (const struct pp_function *function = row->functions; function->rule; function++) {
            assert_true(function < row->functions + sizeof row->functions / sizeof *row->functions - 1);
            check_function(function);
            by_frame |= function->rule == PP_FRAME_JOB || function->rule >= PP_FRAME_SOURCE;
        }
        for (unsigned step = 0; step < PP_WAY_STEPS; step++)
            check_step(&steps_of(row)[step]);
        assert_int_equal((row->variable != NULL) + by_frame + (row->task.length != 0), 1);
        bool is_job = row->kind == PP_CONTEXT_JOB || row->kind == PP_CONTEXT_TEST;
        assert_true(row->kind == PP_CONTEXT_ENDPOINT || (!is_job == (row->variable != NULL) && !row->before));
        assert_true(row->kind == PP_CONTEXT_ENDPOINT || row->kind == PP_CONTEXT_SPAN || is_job ||
                    i == PP_SOURCE_LABELS);
        for (const struct pp_function *function = row->functions; function->rule; function++)
            assert_int_equal(function->rule == PP_FRAME_JOB, is_job);
        assert_int_equal(row->kind == PP_CONTEXT_SPAN, row->ways.trace_id[0].kind && row->ways.span_id[0].kind);
        assert_true(row->ways.text[0].kind || row->task.length || i == PP_SOURCE_LABELS || i == PP_SOURCE_STARLETTE);
        assert_true(!row->variable || !row->title || row->not_found);
    }
}

TEST(functions_of_no_row_are_well_formed)
{
    for (const struct pp_function *function = pp_functions; function->rule; function++) {
        check_function(function);
        assert_int_not_equal(function->rule, PP_FRAME_SOURCE);
        assert_int_not_equal(function->rule, PP_FRAME_JOB);
    }
}

TEST(all_modules_of_rows_are_in_the_list)
{
    unsigned count;
    const char *const *names = pp_source_module_names(&count);
    uintptr_t dicts[PP_SOURCE_MODULES];
    assert_true(count < PP_SOURCE_MODULES);
    for (unsigned i = 0; i < count; i++) {
        dicts[i] = i + 1;
        for (unsigned other = 0; other < i; other++)
            assert_string_not_equal(names[i], names[other]);
    }
    for (unsigned i = 0; i < pp_source_count; i++) {
        const struct pp_source *row = &pp_sources[i];
        assert_string_equal(names[pp_source_module(dicts, row->module) - 1], row->module);
        for (unsigned step = 0; step < PP_WAY_STEPS; step++)
            if (steps_of(row)[step].of)
                assert_int_not_equal(pp_source_module(dicts, steps_of(row)[step].of), 0);
        for (const struct pp_function *function = row->functions; function->rule; function++)
            assert_int_not_equal(pp_source_module_of(dicts, function), 0);
    }
}

TEST(attributes_of_rows_share_no_places)
{
    const struct pp_step *places[PP_LEARNT_STEPS] = {NULL};
    for (unsigned i = 0; i < pp_source_count; i++)
        for (unsigned step = 0; step < PP_WAY_STEPS; step++)
            if (steps_of(&pp_sources[i])[step].kind == PP_STEP_ATTRIBUTE) {
                const struct pp_step **place = &places[(i * PP_WAY_STEPS + step + 1) % PP_LEARNT_STEPS];
                assert_null(*place);
                *place = &steps_of(&pp_sources[i])[step];
            }
}
