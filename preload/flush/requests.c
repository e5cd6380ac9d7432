/* SPDX-License-Identifier: Apache-2.0 */
#include "requests.h"
#include "../base/hash.h"
#include "../base/process.h"
#include "../common/label_kinds.h"
#include "../context/endpoint.h"
#include "../labels/contexts.h"
#include "state.h"

#define PLACES  2048u /* a power of two; the table is never more than half full */
#define LONGEST 4     /* bytes of a character */

struct endpoint {
    /* A request is in one of these: how many of them there are is their sum, so that a count is never half written. */
    _Atomic uint64_t unmeasured, buckets[PP_HANDLER_BUCKETS];
    _Atomic uint64_t cpu_ns;
    uint32_t length;
    char name[PP_CONTEXT_TEXT_BYTES];
};

/* Names stay as long as the process. An endpoint is found by the place of its number in `places`, where a number once
 * stored stays; its name was complete before that. */
static struct {
    _Atomic uint32_t used; /* numbers given out, from 1 on */
    _Atomic bool waiting;
    _Atomic uint16_t places[PLACES]; /* 0: empty */
    struct endpoint endpoints[PP_REQUEST_ENDPOINTS + 1];
} requests;
static struct endpoint other = {.length = sizeof PP_VALUE_OTHER - 1, .name = PP_VALUE_OTHER};

/* Cuts a name as those are cut that handlers read, or the two would not meet. Returns its length.
 * async-signal-safe. */
static uint32_t copy_name(char out[PP_CONTEXT_TEXT_BYTES], const char *text)
{
    static const char ellipsis[] = "\u2026";
    uint32_t n = 0;
    for (; *text && n + LONGEST < PP_CONTEXT_TEXT_BYTES; text++) {
        if (n + 2 * LONGEST >= PP_CONTEXT_TEXT_BYTES && (*text & 0xC0) != 0x80)
            break;
        out[n++] = *text;
    }
    if (*text) {
        memcpy(out + n, ellipsis, sizeof ellipsis - 1);
        n += (uint32_t)sizeof ellipsis - 1;
    }
    return n;
}

/* Returns a number that no other caller has; 0: there is none left. async-signal-safe. */
static uint32_t new_number(void)
{
    uint32_t used = atomic_load(&requests.used);
    while (used < PP_REQUEST_ENDPOINTS)
        if (atomic_compare_exchange_weak(&requests.used, &used, used + 1))
            return used + 1;
    return 0;
}

/* Two threads, or a handler of the thread itself, may add a name at once: one of them wins the place, and the number of
 * the other stays without requests. async-signal-safe. */
static struct endpoint *find(const char *name, uint32_t length)
{
    uint32_t mine = 0;
    for (uint32_t at = (uint32_t)pp_hash(name, length);; at++) {
        _Atomic uint16_t *place = &requests.places[at & (PLACES - 1)];
        uint16_t number = atomic_load_explicit(place, memory_order_acquire);
        if (!number) {
            if (!mine && !(mine = new_number()))
                return &other;
            memcpy(requests.endpoints[mine].name, name, length);
            requests.endpoints[mine].length = length;
            if (atomic_compare_exchange_strong(place, &number, (uint16_t)mine))
                return &requests.endpoints[mine];
        }
        struct endpoint *found = &requests.endpoints[number];
        if (found->length == length && memcmp(found->name, name, length) == 0)
            return found;
    }
}

void pp_requests_add(const char *endpoint, uint64_t cpu_ns)
{
    char name[PP_CONTEXT_TEXT_BYTES];
    unsigned bucket = 0;
    /* the thread may be paused, or about to be made in the child of fork */
    if (atomic_load(&pp_flush.life) < PP_FLUSH_NEEDED || !pp_process_is_profiled())
        return;
    struct endpoint *found = find(name, copy_name(name, endpoint && *endpoint ? endpoint : PP_UNKNOWN_ROUTE));
    while (bucket < PP_HANDLER_BUCKETS - 1 && cpu_ns >= pp_request_bucket_limit(bucket))
        bucket++;
    atomic_fetch_add(&found->cpu_ns, cpu_ns);
    atomic_fetch_add(cpu_ns ? &found->buckets[bucket] : &found->unmeasured, 1);
    if (!atomic_load(&requests.waiting))
        atomic_store(&requests.waiting, true);
}

bool pp_requests_waiting(void)
{
    return atomic_load(&requests.waiting);
}

/* Returns how many requests wait to be taken. */
static uint64_t count_of(const struct endpoint *endpoint)
{
    uint64_t count = atomic_load(&endpoint->unmeasured);
    for (unsigned i = 0; i < PP_HANDLER_BUCKETS; i++)
        count += atomic_load(&endpoint->buckets[i]);
    return count;
}

static void take(struct endpoint *endpoint, struct pp_tables *tables, struct pp_buffer *records)
{
    uint64_t buckets[PP_HANDLER_BUCKETS], measured = 0;
    uint32_t name = count_of(endpoint) ? pp_string_id(tables, endpoint->name, endpoint->length) : 0;
    if (!name)
        return; /* none has ended, or there is no memory: the next time */
    for (unsigned i = 0; i < PP_HANDLER_BUCKETS; i++)
        measured += buckets[i] = atomic_exchange(&endpoint->buckets[i], 0);
    size_t record = pp_record_begin(records);
    pp_put_varint(records, endpoint->length ? name : 0);
    pp_put_varint(records, atomic_exchange(&endpoint->unmeasured, 0) + measured);
    pp_put_varint(records, measured);
    pp_put_varint(records, atomic_exchange(&endpoint->cpu_ns, 0));
    for (unsigned i = 0; i < PP_HANDLER_BUCKETS; i++)
        pp_put_varint(records, buckets[i]);
    pp_record_end(records, record);
}

void pp_requests_consume(struct pp_tables *tables, struct pp_buffer *records)
{
    if (!atomic_exchange(&requests.waiting, false))
        return;
    for (uint32_t i = 1; i <= atomic_load(&requests.used); i++)
        take(&requests.endpoints[i], tables, records);
    take(&other, tables, records);
}

static void forget(struct endpoint *endpoint)
{
    /* what is 0 is not written to: the child would get pages of its own */
    for (unsigned i = 0; i < PP_HANDLER_BUCKETS; i++)
        if (atomic_load(&endpoint->buckets[i]))
            atomic_store(&endpoint->buckets[i], 0);
    if (atomic_load(&endpoint->unmeasured))
        atomic_store(&endpoint->unmeasured, 0);
    if (atomic_load(&endpoint->cpu_ns))
        atomic_store(&endpoint->cpu_ns, 0);
}

void pp_requests_after_fork(void)
{
    uint32_t used = atomic_load(&requests.used);
    if (!used)
        return;
    for (uint32_t i = 1; i <= used; i++)
        forget(&requests.endpoints[i]);
    forget(&other);
    atomic_store(&requests.waiting, false);
}
