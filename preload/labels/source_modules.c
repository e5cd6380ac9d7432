/* SPDX-License-Identifier: Apache-2.0 */
#include "source_modules.h"
#include "../base/check.h"
#include "../base/message.h"
#include <string.h>

#define SUFFIX ".py"

static char names[PP_SOURCE_MODULES][PP_NAME_MAX] = {
    [PP_MODULE_ASYNCIO] = "_asyncio",
    [PP_MODULE_ASYNCIO_PACKAGE] = "asyncio",
    [PP_MODULE_ASYNCIO_TASKS] = "asyncio.tasks",
    [PP_MODULE_TRIO] = "trio._core._run",
    [PP_MODULE_TYPES] = "types",
    [PP_MODULE_FUNCTOOLS] = "functools",
    [PP_MODULE_ANYIO] = "anyio._backends._asyncio",
    [PP_MODULE_REQUESTS] = "libpyprof._requests",
    [PP_MODULE_GREENLET] = "greenlet._greenlet",
    [PP_MODULE_OLD_GREENLET] = "greenlet",
    [PP_MODULE_GEVENT] = "gevent",
    [PP_MODULE_GEVENT_GREENLET] = "gevent._gevent_cgreenlet",
    [PP_MODULE_GEVENT_HUB] = "gevent.hub",
    [PP_MODULE_TRIO_PACKAGE] = "trio",
    [PP_MODULE_DDTRACE_PACKAGE] = "ddtrace",
};
static const char *pointers[PP_SOURCE_MODULES];
static unsigned count;
static bool complete; /* the child of a fork in between begins again */

/* Returns the number of the module whose name comes before the colon, PP_SOURCE_MODULES if it is not in the list. */
static unsigned number_of(const char *text)
{
    for (unsigned i = count; i-- > 0;) { /* a row's own are the last ones while the list is made */
        const char *name = names[i], *at = text;
        while (*name && *name == *at)
            name++, at++;
        if (!*name && (!*at || *at == ':'))
            return i;
    }
    return PP_SOURCE_MODULES;
}

static void add(const char *text)
{
    PP_CHECK(count < PP_SOURCE_MODULES);
    if (!text || number_of(text) != PP_SOURCE_MODULES || count == PP_SOURCE_MODULES)
        return;
    PP_CHECK(strcspn(text, ":") < PP_NAME_MAX);
    pp_format(names[count], sizeof names[count], "%s", text);
    names[count][strcspn(names[count], ":")] = 0;
    count++;
}

void pp_source_module_name(const struct pp_function *function, char name[PP_NAME_MAX])
{
    pp_format(name, PP_NAME_MAX, "%s", function->file.characters);
    name[strlen(name) - (sizeof SUFFIX - 1)] = 0;
    for (char *slash; (slash = strchr(name, '/')) != NULL;)
        *slash = '.';
}

static void add_row(const struct pp_source *row)
{
    const struct pp_step *steps = (const struct pp_step *)&row->ways;
    char name[PP_NAME_MAX];
    add(row->module);
    add(row->version);
    add(row->variable);
    for (unsigned i = 0; i < PP_WAY_STEPS; i++)
        add(steps[i].of);
    for (const struct pp_function *function = row->functions; function->rule; function++) {
        pp_source_module_name(function, name);
        add(name);
    }
}

const char *const *pp_source_module_names(unsigned *number)
{
    if (!complete) {
        count = PP_MODULES_OF_ROWS;
        for (unsigned i = 0; i < pp_source_count; i++)
            add_row(&pp_sources[i]);
        for (unsigned i = 0; i < count; i++)
            pointers[i] = names[i];
        complete = true;
    }
    *number = count;
    return pointers;
}

uintptr_t pp_source_module(const uintptr_t *modules, const char *text)
{
    unsigned number = number_of(text);
    return number < PP_SOURCE_MODULES ? modules[number] : 0;
}

uintptr_t pp_source_module_of(const uintptr_t *modules, const struct pp_function *function)
{
    char name[PP_NAME_MAX];
    pp_source_module_name(function, name);
    return pp_source_module(modules, name);
}
