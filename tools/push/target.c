/* SPDX-License-Identifier: Apache-2.0 */
#include "target.h"

#include <errno.h>
#include <unistd.h>

#include "../base/print.h"
#include "../load/files.h"
#include "../model/frame_text.h"

#define SERVICE      "service.name"
#define HEADERS_MAX  ((size_t)16 << 10)
#define PODS         2u /* the first variables of Kubernetes; the others have names that are used elsewhere, too */
#define MAX_PARENTS  100u
#define MAX_RESOURCE 20u /* attributes: Pyroscope takes 30 labels of a series */

static void add(struct pt_pairs *pairs, const char *key, const char *value)
{
    if (value && *value && !pt_pairs_value(pairs, key) && pairs->count < MAX_RESOURCE)
        pt_pairs_add(pairs, key, strlen(key), value, strlen(value));
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static bool is_pod(const struct pt_push_target *target)
{
    return pt_pairs_value(&target->resource, "k8s.pod.name");
}

void pt_push_target_read(struct pt_push_target *target)
{
    static const struct {
        const char *key, *variables[3];
    } downward[] = {
        {"k8s.namespace.name", {"POD_NAMESPACE", "K8S_NAMESPACE", "K8S_POD_NAMESPACE"}},
        {"k8s.pod.name", {"POD_NAME", "K8S_POD_NAME", "MY_POD_NAME"}},
        {"k8s.container.name", {"CONTAINER_NAME", "K8S_CONTAINER_NAME"}},
        {"k8s.node.name", {"NODE_NAME", "K8S_NODE_NAME", "MY_NODE_NAME"}},
    };
    struct pt_pairs given = {0};
    const char *attributes = variable("OTEL_RESOURCE_ATTRIBUTES"), *service = variable("OTEL_SERVICE_NAME");
    char host[256] = "";
    if (attributes && !pt_pairs_read(&given, attributes))
        pt_message("OTEL_RESOURCE_ATTRIBUTES is not KEY=VALUE,KEY=VALUE: what is not is left out");
    if (!service)
        service = pt_pairs_value(&given, SERVICE);
    target->service_default = service && *service ? pt_strdup(service) : NULL;
    for (uint32_t i = 0; i < given.count; i++)
        if (strcmp(given.items[i].key, SERVICE) != 0)
            add(&target->resource, given.items[i].key, given.items[i].value);
    pt_pairs_free(&given);
    for (size_t i = 0; i < sizeof downward / sizeof downward[0]; i++)
        for (size_t k = 0; k < 3 && downward[i].variables[k] && (i < PODS || is_pod(target)); k++)
            add(&target->resource, downward[i].key, getenv(downward[i].variables[k]));
    /* A pod's host has the pod's name. */
    if (gethostname(host, sizeof host - 1) == 0 && !is_pod(target))
        add(&target->resource, "host.name", host);
}

void pt_push_target_free(struct pt_push_target *target)
{
    pt_push_url_free(&target->url);
    pt_pairs_free(&target->resource);
    free(target->service_default);
}

bool pt_push_headers(const struct pt_push_target *target, struct pt_pairs *headers)
{
    if (target->headers_file) {
        size_t size;
        PT_AUTO_FREE char *bytes = pt_read_file(target->headers_file, HEADERS_MAX, &size);
        PT_AUTO_FREE char *text = bytes ? pt_strndup(bytes, size) : NULL;
        if (!text)
            return pt_error("%s: %s", target->headers_file, strerror(errno));
        return pt_pairs_read_headers(headers, text) ||
               pt_error("%s: a line is no header, as 'Authorization: Bearer …'", target->headers_file);
    }
    const char *name = "PYPROF_PUSH_HEADERS", *value = variable(name);
    if (!value && target->url.protocol == PT_PUSH_OTLP) {
        name = "OTEL_EXPORTER_OTLP_PROFILES_HEADERS";
        value = variable(name);
        name = value ? name : "OTEL_EXPORTER_OTLP_HEADERS";
        value = value ? value : variable(name);
    }
    if (!value)
        return true;
    if (strlen(value) < HEADERS_MAX && pt_pairs_read(headers, value) && pt_pairs_are_headers(headers))
        return true;
    return pt_error("%s is not NAME=VALUE,NAME=VALUE, as 'Authorization=Bearer …'", name);
}

/* Returns the next word of the line, which the caller frees, and moves *line after it; NULL at its end. */
static char *next_word(const char **line)
{
    const char *begin = *line + strspn(*line, " ");
    size_t length = strcspn(begin, " ");
    *line = begin + length;
    return length ? pt_strndup(begin, length) : NULL;
}

static bool is_interpreter(const char *word)
{
    const char *name = pt_base_name(word);
    return strncmp(name, "python", 6) == 0 || strncmp(name, "pypy", 4) == 0;
}

char *pt_push_program_name(const char *line)
{
    char *first = next_word(&line), *word = NULL;
    if (!first || !is_interpreter(first)) {
        char *name = pt_strdup(first ? pt_base_name(first) : "python");
        free(first);
        return name;
    }
    while ((word = next_word(&line))) {
        bool module = strcmp(word, "-m") == 0, code = strcmp(word, "-c") == 0;
        bool argument = strcmp(word, "-X") == 0 || strcmp(word, "-W") == 0;
        if (*word != '-' || code)
            break;
        free(word);
        word = NULL;
        if (!module && !argument)
            continue;
        word = next_word(&line);
        if (module)
            break;
        free(word);
        word = NULL;
    }
    bool unknown = !word || strcmp(word, "-c") == 0;
    char *name = pt_strdup(pt_base_name(unknown ? first : word));
    free(first);
    free(word);
    return name;
}

/* Returns the process that this is a copy of or, where the command line names no program, that has started it: it is
 * known by its pid only. PT_NONE: there is none, or its log was not read. */
static uint32_t parent_of(const struct pt_profile *profile, const struct pt_process *process)
{
    PT_AUTO_FREE char *name = pt_push_program_name(pt_string(profile, process->command_line));
    if (!process->parent_instance && !is_interpreter(name))
        return PT_NONE;
    for (uint32_t i = 0; i < profile->processes.count; i++) {
        const struct pt_process *other = &profile->processes.items[i];
        bool parent = process->parent_instance ? other->instance == process->parent_instance
                                               : other->pid == process->ppid && other->run == process->run;
        if (parent && other != process)
            return i;
    }
    return PT_NONE;
}

/* A worker's command line may be multiprocessing's: the first process has the service's name. */
uint32_t pt_push_service(const struct pt_push_target *target, struct pt_profile *profile, uint32_t process)
{
    if (target->service)
        return pt_intern_text(profile, target->service);
    if (profile->processes.items[process].service)
        return profile->processes.items[process].service;
    if (target->service_default)
        return pt_intern_text(profile, target->service_default);
    for (unsigned i = 0; i < MAX_PARENTS; i++) {
        uint32_t parent = parent_of(profile, &profile->processes.items[process]);
        if (parent == PT_NONE || profile->processes.items[parent].service)
            break;
        process = parent;
    }
    PT_AUTO_FREE char *name = pt_push_program_name(pt_string(profile, profile->processes.items[process].command_line));
    return pt_intern_text(profile, name);
}
