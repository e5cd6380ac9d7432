/* SPDX-License-Identifier: Apache-2.0 */
#include "trio.h"
#include "names.h"
#include "values.h"

bool pp_trio_find(const struct pp_object_reader *reader, const uintptr_t *modules, struct pp_trio_facts *facts)
{
    uintptr_t task;
    return pp_name_find(reader, modules[PP_MODULE_TRIO], "Task", &task) &&
           pp_member_find(reader, task, "name", &facts->name) &&
           pp_member_find(reader, task, "coro", &facts->coroutine) &&
           pp_member_find(reader, task, "_parent_nursery", &facts->nursery) &&
           pp_name_find(reader, modules[PP_MODULE_TYPES], "CellType", &facts->cell_type);
}

/* async-signal-safe. */
static bool read_parent(const struct pp_context_reader *reader, uintptr_t task, uintptr_t *parent)
{
    uintptr_t nursery;
    return pp_member_read(&reader->objects, task, &reader->facts->trio.nursery, &nursery) &&
           pp_attribute_read(&reader->objects, nursery, "_parent_task", &reader->slot->thread.learnt.trio_parent,
                             parent);
}

uintptr_t pp_trio_parent(const struct pp_context_reader *reader, uintptr_t task)
{
    uintptr_t parent, above;
    return read_parent(reader, task, &parent) && read_parent(reader, parent, &above) ? parent : 0;
}

uintptr_t pp_trio_awaiter_of_work(const struct pp_context_reader *reader, uintptr_t cell)
{
    const struct pp_object_reader *objects = &reader->objects;
    uintptr_t list, task;
    return reader->facts && pp_object_is(objects, cell, reader->facts->trio.cell_type) &&
                   pp_object_word(objects, cell + objects->python->layout.object.ob_ref, &list) &&
                   pp_list_first(objects, list, &task) && pp_object_is(objects, task, reader->facts->trio.nursery.type)
               ? task
               : 0;
}
