/* SPDX-License-Identifier: Apache-2.0 */
#include "otlp_resource.h"

#include "../base/proto.h"
#include "../model/frame_text.h"
#include "../view/summary.h"

enum { RESOURCE = 1, RESOURCE_ATTRIBUTE = 1 };
enum { SCOPE = 1, SCOPE_NAME = 1, SCOPE_VERSION };
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE };
enum { VALUE_STRING = 1, VALUE_INT = 3 };

void pt_otlp_append_attribute(struct pt_buffer *to, unsigned field, const char *key, const char *value, uint64_t number)
{
    PT_AUTO_BUFFER message = {0}, any = {0};
    if (value)
        pt_proto_text(&any, VALUE_STRING, value);
    else
        pt_proto_choice(&any, VALUE_INT, number);
    pt_proto_text(&message, KEY_VALUE_KEY, key);
    pt_proto_message(&message, KEY_VALUE_VALUE, &any);
    if (!value || *value)
        pt_proto_message(to, field, &message);
}

void pt_otlp_append_resource(struct pt_buffer *to, const struct pt_profile *profile, uint32_t number, uint64_t shown_ns)
{
    const struct pt_process *process = &profile->processes.items[number];
    PT_AUTO_BUFFER resource = {0};
    /* Without a name in the environment the default of OpenTelemetry's specification: some backends drop what has none.
     */
    PT_AUTO_BUFFER name = {0};
    if (!process->service)
        pt_buffer_format(&name, "unknown_service:%s", pt_base_name(pt_string(profile, process->executable)));
    pt_otlp_append_attribute(&resource, RESOURCE_ATTRIBUTE, "service.name",
                             process->service ? pt_string(profile, process->service) : name.data, 0);
    pt_otlp_append_attribute(&resource, RESOURCE_ATTRIBUTE, "process.pid", NULL, process->pid);
    pt_otlp_append_attribute(&resource, RESOURCE_ATTRIBUTE, "process.executable.path",
                             pt_string(profile, process->executable), 0);
    pt_otlp_append_attribute(&resource, RESOURCE_ATTRIBUTE, "process.command_line",
                             pt_string(profile, process->command_line), 0);
    pt_otlp_append_attribute(&resource, RESOURCE_ATTRIBUTE, "process.runtime.name",
                             process->python_version ? "cpython" : "", 0);
    pt_otlp_append_attribute(&resource, RESOURCE_ATTRIBUTE, "process.runtime.version",
                             pt_string(profile, process->python_version), 0);
    pt_otlp_append_attribute(&resource, RESOURCE_ATTRIBUTE, "host.name", pt_string(profile, process->host), 0);
    pt_otlp_append_attribute(&resource, RESOURCE_ATTRIBUTE, "service.instance.id",
                             pt_string(profile, process->instance), 0);
    struct pt_accounting sum = pt_summary_accounting(profile, number);
    pt_otlp_append_attribute(&resource, RESOURCE_ATTRIBUTE, "pyprof.cpu_ns", NULL, sum.cpu_ns);
    pt_otlp_append_attribute(&resource, RESOURCE_ATTRIBUTE, "pyprof.sampled_ns", NULL, sum.sampled_ns);
    pt_otlp_append_attribute(&resource, RESOURCE_ATTRIBUTE, "pyprof.unsampled_ns", NULL, sum.unsampled_ns);
    pt_otlp_append_attribute(&resource, RESOURCE_ATTRIBUTE, "pyprof.lost_ns", NULL, sum.lost_ns);
    pt_otlp_append_attribute(&resource, RESOURCE_ATTRIBUTE, "pyprof.own_ns", NULL, sum.own_ns);
    pt_otlp_append_attribute(&resource, RESOURCE_ATTRIBUTE, "pyprof.thread_exit_ns", NULL, sum.thread_exit_ns);
    pt_otlp_append_attribute(&resource, RESOURCE_ATTRIBUTE, "pyprof.difference_ns", NULL, (uint64_t)sum.difference_ns);
    pt_otlp_append_attribute(&resource, RESOURCE_ATTRIBUTE, "pyprof.estimated_ns", NULL, sum.estimated_ns);
    pt_otlp_append_attribute(&resource, RESOURCE_ATTRIBUTE, "pyprof.shown_ns", NULL, shown_ns);
    pt_proto_message(to, RESOURCE, &resource);
}

void pt_otlp_append_scope(struct pt_buffer *to, const char *name)
{
    PT_AUTO_BUFFER scope = {0};
    pt_proto_text(&scope, SCOPE_NAME, name);
    pt_proto_text(&scope, SCOPE_VERSION, PYPROF_VERSION);
    pt_proto_message(to, SCOPE, &scope);
}
