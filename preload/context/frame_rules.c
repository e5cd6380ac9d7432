#include "frame_rules.h"
#include <string.h>

struct ascii {
    const char *characters;
    uint32_t length;
};
#define ASCII(text)                                                                                                    \
    {                                                                                                                  \
        text, sizeof text - 1                                                                                          \
    }

static const struct rule {
    enum pp_frame_rule rule;
    struct ascii qualname, name; /* before 3.11 code objects only have the name */
    struct ascii file;           /* what the path ends with, after a slash or from its beginning */
} rules[] = {
    {PP_FRAME_THREAD, ASCII("Thread._bootstrap"), ASCII("_bootstrap"), ASCII("threading.py")},
    {PP_FRAME_LOOP, ASCII("Handle._run"), ASCII("_run"), ASCII("asyncio/events.py")},
    {PP_FRAME_LOOP, ASCII("Runner.run"), ASCII("run"), ASCII("asyncio/runners.py")},
    {PP_FRAME_HUB, ASCII("Hub.run"), ASCII("run"), ASCII("gevent/hub.py")},
    {PP_FRAME_HUB, ASCII("BaseHub.run"), ASCII("run"), ASCII("eventlet/hubs/hub.py")},
    {PP_FRAME_HUB, ASCII("Hub.run"), ASCII("run"), ASCII("eventlet/hubs/asyncio.py")},
    {PP_FRAME_CALLS, ASCII("GreenThread.main"), ASCII("main"), ASCII("eventlet/greenthread.py")},
    {PP_FRAME_CALLS, ASCII("GreenPool._spawn_n_impl"), ASCII("_spawn_n_impl"), ASCII("eventlet/greenpool.py")},
    {PP_FRAME_DJANGO, ASCII("BaseHandler._get_response"), ASCII("_get_response"),
     ASCII("django/core/handlers/base.py")},
    {PP_FRAME_DJANGO, ASCII("BaseHandler._get_response_async"), ASCII("_get_response_async"),
     ASCII("django/core/handlers/base.py")},
    {PP_FRAME_FASTAPI, ASCII("APIRoute.handle"), ASCII("handle"), ASCII("fastapi/routing.py")},
    {PP_FRAME_ROUTE, ASCII("Route.handle"), ASCII("handle"), ASCII("starlette/routing.py")},
    {PP_FRAME_ROUTE, ASCII("Mount.handle"), ASCII("handle"), ASCII("starlette/routing.py")},
    {PP_FRAME_ROUTE, ASCII("WebSocketRoute.handle"), ASCII("handle"), ASCII("starlette/routing.py")},
};

/* async-signal-safe. */
static bool ends_with(const struct pp_record_text *text, const uint8_t *characters, const struct ascii *end)
{
    return text->width == 1 && !text->cut && text->bytes >= end->length &&
           memcmp(characters + text->bytes - end->length, end->characters, end->length) == 0;
}

enum pp_frame_rule pp_frame_rule_of(const struct pp_record_code *record)
{
    const uint8_t *qualname = (const uint8_t *)(record + 1), *file = qualname + record->qualname.bytes;
    for (const struct rule *rule = rules; rule < rules + sizeof rules / sizeof *rules; rule++) {
        const struct ascii *name = record->minor < 11 ? &rule->name : &rule->qualname;
        if (record->qualname.bytes == name->length && ends_with(&record->qualname, qualname, name) &&
            ends_with(&record->filename, file, &rule->file) &&
            (record->filename.bytes == rule->file.length ||
             file[record->filename.bytes - rule->file.length - 1] == '/'))
            return rule->rule;
    }
    return PP_FRAME_ANY;
}
