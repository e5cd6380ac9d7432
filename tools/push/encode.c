/* SPDX-License-Identifier: Apache-2.0 */
#include "encode.h"

#include <ctype.h>
#include <inttypes.h>

#include "../base/gzip.h"
#include "../base/output.h"
#include "../base/proto.h"
#include "../export/export.h"

#define MAX_VALUE 1024u /* bytes of a label: Pyroscope takes 2048 */

/* Fields of push.v1 and types.v1. */
enum { PUSH_SERIES = 1 };
enum { SERIES_LABELS = 1, SERIES_SAMPLES };
enum { LABEL_NAME = 1, LABEL_VALUE };
enum { SAMPLE_PROFILE = 1, SAMPLE_ID };

typedef void put_label(void *data, const char *name, const char *value);

/* The names that these servers' own agents use. */
static const char *short_name(const char *attribute)
{
    static const char *const names[][2] = {{"k8s.namespace.name", "namespace"},
                                           {"k8s.pod.name", "pod"},
                                           {"k8s.container.name", "container"},
                                           {"k8s.node.name", "node"},
                                           {"host.name", "hostname"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i][0], attribute) == 0)
            return names[i][1];
    return attribute;
}

/* Calls put with each label of the series. Characters that the server refuses become '_'. */
static void each_label(const struct pt_push_target *target, const char *service, put_label *put, void *data)
{
    bool dots = target->url.protocol == PT_PUSH_PYROSCOPE;
    put(data, "__name__", "process_cpu");
    put(data, dots ? "service_name" : "job", service);
    for (uint32_t i = 0; i < target->resource.count; i++) {
        PT_AUTO_BUFFER name = {0};
        PT_AUTO_FREE char *value = pt_strndup(target->resource.items[i].value, MAX_VALUE);
        pt_buffer_text(&name, short_name(target->resource.items[i].key));
        for (char *at = name.data; *at; at++)
            if (!isalnum((unsigned char)*at) && (*at != '.' || !dots))
                *at = '_';
        if (isdigit((unsigned char)*name.data))
            *name.data = '_';
        put(data, name.data, value);
    }
}

/* Fills bytes that tell this profile from all others. */
static void fill_id(unsigned char *id, const struct pt_push_target *target, const struct pt_push_profile *from,
                    const char *service)
{
    PT_AUTO_BUFFER text =
        pt_formatted("%s\n%" PRIu64 "\n%" PRIu32 "\n%s\n", target->url.text, from->start_unix_ns, from->part, service);
    for (uint32_t i = 0; i < target->resource.count; i++)
        pt_buffer_format(&text, "%s=%s\n", target->resource.items[i].key, target->resource.items[i].value);
    for (unsigned i = 0; i < PT_PUSH_ID_BYTES; i += 4) {
        uint32_t hash = pt_hash_bytes(text.data, text.length);
        memcpy(id + i, &hash, 4);
        pt_buffer_format(&text, "%u", i);
    }
    id[6] = (unsigned char)(0x80 | (id[6] & 0x0f)); /* a UUID of version 8: made by a rule of our own */
    id[8] = (unsigned char)(0x80 | (id[8] & 0x3f));
}

static void append_uuid(struct pt_buffer *text, const unsigned char *id)
{
    for (unsigned i = 0; i < PT_PUSH_ID_BYTES; i++)
        pt_buffer_format(text, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", id[i]);
}

/* Runs the exporter on the samples; the buffer is empty. */
static void export_samples(struct pt_profile *profile, const struct pt_push_profile *from, pt_exporter *write,
                           const struct pt_export_window *window, struct pt_buffer *to)
{
    const struct pt_export_options options = {.window = window, .lines = true};
    FILE *out = pt_buffer_stream(to);
    const __typeof__(profile->samples) own = profile->samples;
    profile->samples = (__typeof__(own)){.items = from->samples, .count = from->count};
    write(profile, &options, out);
    profile->samples = own;
    fclose(out);
}

static void compress(struct pt_buffer *bytes)
{
    struct pt_gzip gzip;
    struct pt_buffer packed = {0};
    FILE *out = pt_buffer_stream(&packed);
    pt_gzip_begin(&gzip, out);
    pt_buffer_append(&gzip.text, bytes->data, bytes->length);
    pt_gzip_end(&gzip);
    fclose(out);
    pt_buffer_free(bytes);
    *bytes = packed;
}

static void put_pyroscope_label(void *series, const char *name, const char *value)
{
    PT_AUTO_BUFFER label = {0};
    pt_proto_text(&label, LABEL_NAME, name);
    pt_proto_text(&label, LABEL_VALUE, value);
    pt_proto_message(series, SERIES_LABELS, &label);
}

static void wrap_for_pyroscope(struct pt_buffer *body, const struct pt_push_target *target, const char *service,
                               const struct pt_buffer *pprof, const unsigned char *id)
{
    PT_AUTO_BUFFER series = {0}, sample = {0}, uuid = {0};
    append_uuid(&uuid, id);
    each_label(target, service, put_pyroscope_label, &series);
    pt_proto_bytes(&sample, SAMPLE_PROFILE, pprof->data, pprof->length);
    pt_proto_text(&sample, SAMPLE_ID, uuid.data);
    pt_proto_message(&series, SERIES_SAMPLES, &sample);
    pt_proto_message(body, PUSH_SERIES, &series);
}

static void append_json_text(struct pt_buffer *json, const char *text)
{
    pt_buffer_text(json, "\"");
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\')
            pt_buffer_format(json, "\\u%04x", (unsigned)(unsigned char)*text);
        else
            pt_buffer_append(json, text, 1);
    }
    pt_buffer_text(json, "\"");
}

static void put_parca_label(void *json, const char *name, const char *value)
{
    struct pt_buffer *text = json;
    pt_buffer_text(text, text->data[text->length - 1] == '[' ? "{\"name\":" : ",{\"name\":");
    append_json_text(text, name);
    pt_buffer_text(text, ",\"value\":");
    append_json_text(text, value);
    pt_buffer_text(text, "}");
}

static void wrap_for_parca(struct pt_buffer *body, const struct pt_push_target *target, const char *service,
                           const struct pt_buffer *pprof)
{
    pt_buffer_text(body, "{\"series\":[{\"labels\":{\"labels\":[");
    each_label(target, service, put_parca_label, body);
    pt_buffer_text(body, "]},\"samples\":[{\"rawProfile\":\"");
    pt_buffer_base64(body, pprof->data, pprof->length);
    pt_buffer_text(body, "\"}]}]}");
}

/* Returns what gzip's last bytes say: the length of what it holds. */
static size_t unpacked_length(const struct pt_buffer *gzip)
{
    size_t length = 0;
    for (unsigned i = 1; i <= 4 && i <= gzip->length; i++)
        length = length << 8 | (unsigned char)gzip->data[gzip->length - i];
    return length;
}

static void encode_otlp(struct pt_push_body *body, const struct pt_push_target *target, struct pt_profile *profile,
                        const struct pt_push_profile *from, struct pt_export_window *window)
{
    struct pt_export_attribute *attributes = pt_alloc((size_t)target->resource.count + 1, sizeof *attributes);
    attributes[0] = (struct pt_export_attribute){"service.name", pt_string(profile, from->service)};
    for (uint32_t i = 0; i < target->resource.count; i++)
        attributes[i + 1] =
            (struct pt_export_attribute){target->resource.items[i].key, target->resource.items[i].value};
    window->attributes = attributes;
    window->attribute_count = target->resource.count + 1;
    export_samples(profile, from, pt_export_otlp, window, &body->bytes);
    free(attributes);
    body->unpacked = body->bytes.length;
    compress(&body->bytes);
}

void pt_push_encode(struct pt_push_body *body, const struct pt_push_target *target, struct pt_profile *profile,
                    const struct pt_push_profile *from)
{
    PT_AUTO_BUFFER pprof = {0};
    unsigned char id[PT_PUSH_ID_BYTES];
    PT_AUTO_FREE char *service = pt_strdup(pt_string(profile, from->service));
    fill_id(id, target, from, service);
    struct pt_export_window window = {.start_unix_ns = from->start_unix_ns, .length_ns = from->length_ns, .id = id};
    *body = (struct pt_push_body){0};
    if (target->url.protocol == PT_PUSH_OTLP) {
        encode_otlp(body, target, profile, from, &window);
        return;
    }
    export_samples(profile, from, pt_export_pprof, &window, &pprof);
    body->unpacked = unpacked_length(&pprof);
    if (target->url.protocol == PT_PUSH_PYROSCOPE)
        wrap_for_pyroscope(&body->bytes, target, service, &pprof, id);
    else
        wrap_for_parca(&body->bytes, target, service, &pprof);
}

static void add(struct pt_pairs *headers, const char *name, const char *value)
{
    pt_pairs_add(headers, name, strlen(name), value, strlen(value));
}

void pt_push_add_type(struct pt_pairs *headers, const struct pt_push_target *target)
{
    static const char *const types[PT_PUSH_PROTOCOLS] = {[PT_PUSH_PYROSCOPE] = "application/proto",
                                                         [PT_PUSH_OTLP] = "application/x-protobuf",
                                                         [PT_PUSH_PARCA] = "application/json"};
    add(headers, "Content-Type", types[target->url.protocol]);
    if (target->url.protocol == PT_PUSH_OTLP)
        add(headers, "Content-Encoding", "gzip");
}
