/* SPDX-License-Identifier: Apache-2.0 */
#include "sources.h"
#include <stddef.h>

/* Where several libraries trace, the first row counts; the others share its name. */
const struct pp_source pp_sources[] = {
    [PP_SOURCE_SERVED] =
        {
            .kind = PP_CONTEXT_ENDPOINT,
            .module = "libpyprof._requests",
            .variable = "libpyprof:_served",
            .same_name = true,
            .ways =
                {
                    /* gevent runs something for a request: Spawned is in its place */
                    .object = {{PP_STEP_SLOT, PP_MISSING_STAYS, .of = "libpyprof._requests:Spawned",
                                .name = "request"}},
                    .text = {{PP_STEP_SLOT, .of = "libpyprof._requests:Request", .name = "own"},
                             {PP_STEP_SLOT, .of = "libpyprof._requests:Request", .name = "name"},
                             {PP_STEP_SLOT, .of = "libpyprof._requests:Request", .name = "endpoint"}},
                },
        },
    [PP_SOURCE_LABELS] =
        {
            .kind = PP_CONTEXT_LABELS,
            .title = "the program's labels",
            .module = "libpyprof",
            .variable = "libpyprof:pyprof_labels", /* "key=value;key2=value2", in bytes */
            .not_found = "libpyprof.pyprof_labels is no context variable",
        },
    [PP_SOURCE_STARLETTE] =
        {
            .kind = PP_CONTEXT_ENDPOINT,
            .title = "endpoints of Starlette",
            .module = "starlette.routing",
            .version = "starlette:__version__",
            /* before 3.11 the names of functions do not tell Mount.handle from Route.handle */
            .ways = {.object = {{PP_STEP_INSTANCE, .of = "starlette.routing:Mount"}}},
            .functions = {{PP_FRAME_SCOPE, PP_ASCII("Starlette.__call__"), PP_ASCII("starlette/applications.py"),
                           "scope", NULL},
                          {PP_FRAME_FASTAPI, PP_ASCII("APIRoute.handle"), PP_ASCII("fastapi/routing.py"), "self",
                           "effective_context"},
                          {PP_FRAME_ROUTE, PP_ASCII("Route.handle"), PP_ASCII("starlette/routing.py"), "self", NULL},
                          {PP_FRAME_MOUNT, PP_ASCII("Mount.handle"), PP_ASCII("starlette/routing.py"), "self", NULL},
                          {PP_FRAME_ROUTE, PP_ASCII("WebSocketRoute.handle"), PP_ASCII("starlette/routing.py"), "self",
                           NULL}},
        },
    [PP_SOURCE_GRPC_AIO] =
        {
            /* the coroutines that call the servicer's method are compiled by Cython: no frame has the method's path */
            .kind = PP_CONTEXT_ENDPOINT,
            .title = "methods of grpc.aio",
            .module = "grpc.aio._server",
            .version = "grpc:__version__",
            .task = PP_ASCII("HandleExceptions["), /* since 1.64 or 1.63 */
        },
    {
        .kind = PP_CONTEXT_SPAN,
        .title = "spans of OpenTelemetry",
        .module = "opentelemetry.trace.propagation",
        .version = "opentelemetry.sdk.version:__version__",
        .variable = "opentelemetry.context:_RUNTIME_CONTEXT._current_context",
        .not_found = "its context is not used yet, or OTEL_PYTHON_CONTEXT selects another class than "
                     "contextvars_context, or opentelemetry.trace.propagation has no _SPAN_KEY",
        .ways =
            {
                .object = {{PP_STEP_ENTRY, PP_MISSING_NONE, .of = "opentelemetry.trace.propagation:_SPAN_KEY"}},
                /* another process's span has no name, nor has a span that is not recorded */
                .text = {{PP_STEP_ATTRIBUTE, .name = "_name"}},
                /* of a SpanContext, which is a tuple */
                .ids = {{PP_STEP_ATTRIBUTE, .name = "_context"}},
                .trace_id = {{PP_STEP_ITEM, .number = 0}},
                .span_id = {{PP_STEP_ITEM, .number = 1}},
                /* a service further up may have chosen */
                .from_start = {{PP_STEP_ENTRY, .of = "opentelemetry.baggage:_BAGGAGE_KEY"},
                               {PP_STEP_NAMED, .name = "splunk.trace.snapshot.volume"}},
            },
    },
    {
        .kind = PP_CONTEXT_SPAN,
        .title = "spans of ddtrace",
        .module = "ddtrace._trace.provider",
        .version = "ddtrace:__version__",
        .variable = "ddtrace._trace.provider:_DD_CONTEXTVAR",
        .not_found = "its spans are not the objects of Python that they are up to 3.x",
        .ways =
            {
                /* it may be None, or the ids of another process's span */
                .object = {{PP_STEP_INSTANCE, PP_MISSING_NONE, .of = "ddtrace._trace.span:Span"}},
                .text = {{PP_STEP_SLOT, .of = "ddtrace._trace.span:Span", .name = "name"}},
                .trace_id = {{PP_STEP_SLOT, .of = "ddtrace._trace.span:Span", .name = "trace_id"}},
                .span_id = {{PP_STEP_SLOT, .of = "ddtrace._trace.span:Span", .name = "span_id"}},
            },
    },
    {
        .kind = PP_CONTEXT_SPAN,
        .title = "spans of Sentry",
        .module = "sentry_sdk.scope",
        .version = "sentry_sdk:VERSION",
        .variable = "sentry_sdk.scope:_current_scope",
        .not_found = "its scopes and spans are not those of 2.x",
        .numbered_late = true,
        .ways =
            {
                .object = {{PP_STEP_SLOT, PP_MISSING_NONE, .of = "sentry_sdk.scope:Scope", .name = "_span"},
                           {PP_STEP_INSTANCE, PP_MISSING_NONE, .of = "sentry_sdk.tracing:Span"}},
                /* a transaction's name, another span's description, or its kind */
                .text = {{PP_STEP_SLOT, .of = "sentry_sdk.tracing:Transaction", .name = "name"},
                         {PP_STEP_SLOT, .of = "sentry_sdk.tracing:Span", .name = "description"},
                         {PP_STEP_SLOT, .of = "sentry_sdk.tracing:Span", .name = "op"}},
                .trace_id = {{PP_STEP_SLOT, .of = "sentry_sdk.tracing:Span", .name = "_trace_id"}},
                .span_id = {{PP_STEP_SLOT, .of = "sentry_sdk.tracing:Span", .name = "_span_id"}},
            },
    },
    {
        .kind = PP_CONTEXT_ENDPOINT,
        .title = "endpoints of Flask",
        .module = "flask.globals",
        .version = "flask:__version__",
        .variable = "flask.globals:_cv_request",
        .not_found = "flask.globals has no context variable _cv_request, as since 2.2",
        .ways =
            {
                .object = {{PP_STEP_ATTRIBUTE, .name = "request"},
                           /* a request that has not been routed yet, or cannot be, has no rule */
                           {PP_STEP_ATTRIBUTE, PP_MISSING_NONE, .name = "url_rule"}},
                .text = {{PP_STEP_ATTRIBUTE, .name = "rule"}},
            },
        .functions = {{PP_FRAME_REQUEST, PP_ASCII("Flask.__call__"), PP_ASCII("flask/app.py"), NULL, NULL}},
    },
    {
        .kind = PP_CONTEXT_ENDPOINT,
        .title = "endpoints of Django",
        .module = "django.core.handlers.base",
        .version = "django:__version__",
        .before = '/',
        .ways =
            {
                .object = {{PP_STEP_ATTRIBUTE, PP_MISSING_NONE, .name = "resolver_match"}},
                .text = {{PP_STEP_ATTRIBUTE, .name = "route"}},
            },
        .functions = {{PP_FRAME_SOURCE, PP_ASCII("WSGIHandler.__call__"), PP_ASCII("django/core/handlers/wsgi.py"),
                       "request", NULL},
                      {PP_FRAME_SOURCE, PP_ASCII("ASGIHandler.handle"), PP_ASCII("django/core/handlers/asgi.py"),
                       "request", NULL},
                      /* around each middleware, and the innermost handler */
                      {PP_FRAME_SOURCE, PP_ASCII("convert_exception_to_response.<locals>.inner"),
                       PP_ASCII("django/core/handlers/exception.py"), "request", NULL}},
    },
    {
        .kind = PP_CONTEXT_ENDPOINT,
        .title = "endpoints of aiohttp",
        .module = "aiohttp.web_urldispatcher",
        .version = "aiohttp:__version__",
        .ways =
            {
                .object = {{PP_STEP_ATTRIBUTE, PP_MISSING_NONE, .name = "_match_info"},
                           {PP_STEP_ATTRIBUTE, PP_MISSING_NONE, .of = "aiohttp.web_urldispatcher:UrlMappingMatchInfo",
                            .name = "_route"},
                           {PP_STEP_ATTRIBUTE, PP_MISSING_NONE, .name = "_resource"}},
                /* with parameters, without, and of static files; those of an application within another one begin with
                 * its prefix */
                .text = {{PP_STEP_ATTRIBUTE, .name = "_formatter"},
                         {PP_STEP_ATTRIBUTE, .name = "_path"},
                         {PP_STEP_ATTRIBUTE, .name = "_prefix"}},
            },
        .functions = {{PP_FRAME_SOURCE, PP_ASCII("RequestHandler._handle_request"), PP_ASCII("aiohttp/web_protocol.py"),
                       "request", NULL}},
    },
    {
        .kind = PP_CONTEXT_ENDPOINT,
        .title = "endpoints of Bottle",
        .module = "bottle",
        .version = "bottle:__version__",
        .ways = {.text = {{PP_STEP_ATTRIBUTE, .name = "rule"}}},
        .functions = {{PP_FRAME_SOURCE, PP_ASCII("Bottle._handle"), PP_ASCII("bottle.py"), "route", NULL},
                      {PP_FRAME_REQUEST, PP_ASCII("Bottle.wsgi"), PP_ASCII("bottle.py"), NULL, NULL}},
    },
    {
        .kind = PP_CONTEXT_ENDPOINT,
        .title = "endpoints of Quart",
        .module = "quart.globals",
        .variable = "quart.globals:_cv_app",
        .not_found = "quart.globals has no context variable _cv_app",
        .ways =
            {
                .object = {{PP_STEP_ATTRIBUTE, PP_MISSING_NONE, .name = "_request"},
                           {PP_STEP_ATTRIBUTE, PP_MISSING_NONE, .name = "url_rule"}},
                .text = {{PP_STEP_ATTRIBUTE, .name = "rule"}},
            },
        .functions = {{PP_FRAME_REQUEST, PP_ASCII("Quart.handle_request"), PP_ASCII("quart/app.py"), NULL, NULL}},
    },
    {
        /* Quart before 0.23 */
        .kind = PP_CONTEXT_ENDPOINT,
        .module = "quart.globals",
        .variable = "quart.globals:_cv_request",
        .ways =
            {
                .object = {{PP_STEP_ATTRIBUTE, .name = "request_websocket"},
                           {PP_STEP_ATTRIBUTE, PP_MISSING_NONE, .name = "url_rule"}},
                .text = {{PP_STEP_ATTRIBUTE, .name = "rule"}},
            },
    },
    {
        .kind = PP_CONTEXT_ENDPOINT,
        .title = "endpoints of Litestar",
        .module = "litestar._asgi.asgi_router",
        .ways = {.text = {{PP_STEP_NAMED, .name = "path_template"}}},
        .functions = {{PP_FRAME_SOURCE, PP_ASCII("ASGIRouter.__call__"), PP_ASCII("litestar/_asgi/asgi_router.py"),
                       "scope", NULL}},
    },
    {
        .kind = PP_CONTEXT_ENDPOINT,
        .title = "endpoints of Falcon",
        .module = "falcon.app",
        .version = "falcon.version:__version__",
        .ways = {.text = {{PP_STEP_ATTRIBUTE, .of = "falcon.request:Request", .name = "uri_template"}}},
        .functions = {{PP_FRAME_SOURCE, PP_ASCII("App.__call__"), PP_ASCII("falcon/app.py"), "req", NULL},
                      {PP_FRAME_SOURCE, PP_ASCII("App.__call__"), PP_ASCII("falcon/asgi/app.py"), "req", NULL}},
    },
    {
        .kind = PP_CONTEXT_ENDPOINT,
        .title = "endpoints of Pyramid",
        .module = "pyramid.router",
        .ways =
            {
                .object = {{PP_STEP_ATTRIBUTE, PP_MISSING_NONE, .name = "matched_route"}},
                .text = {{PP_STEP_ATTRIBUTE, .name = "pattern"}},
            },
        .functions = {{PP_FRAME_SOURCE, PP_ASCII("Router.invoke_request"), PP_ASCII("pyramid/router.py"), "request",
                       NULL}},
    },
    {
        .kind = PP_CONTEXT_ENDPOINT,
        .title = "endpoints of Sanic",
        .module = "sanic.http.http1",
        .version = "sanic:__version__",
        .before = '/',
        /* which compiles Sanic.handle_request again, without a file */
        .ways =
            {
                .object = {{PP_STEP_ATTRIBUTE, PP_MISSING_NONE, .of = "sanic.http.http1:Http", .name = "request"},
                           {PP_STEP_ATTRIBUTE, PP_MISSING_NONE, .of = "sanic.request:Request", .name = "route"}},
                .text = {{PP_STEP_ATTRIBUTE, .of = "sanic_routing.route:Route", .name = "path"}},
            },
        .functions = {{PP_FRAME_SOURCE, PP_ASCII("Http.http1"), PP_ASCII("sanic/http/http1.py"), "self", NULL}},
    },
    {
        .kind = PP_CONTEXT_ENDPOINT,
        .title = "handlers of Tornado",
        .module = "tornado.web",
        .version = "tornado:version",
        .ways = {.text = {{.kind = PP_STEP_CLASS}}},
        .functions = {{PP_FRAME_SOURCE, PP_ASCII("RequestHandler._execute"), PP_ASCII("tornado/web.py"), "self", NULL}},
    },
    {
        .kind = PP_CONTEXT_ENDPOINT,
        .title = "methods of gRPC",
        .module = "grpc._server",
        .version = "grpc:__version__",
        /* the path of the method is in objects of C: the name of the servicer's method is what is left */
        .ways =
            {
                .object = {{PP_STEP_METHOD, PP_MISSING_STAYS, .of = "types:MethodType"}},
                .text = {{PP_STEP_FUNCTION, .of = "types:FunctionType"}},
            },
        .functions = {{PP_FRAME_SOURCE, PP_ASCII("_unary_response_in_pool"), PP_ASCII("grpc/_server.py"), "behavior",
                       NULL},
                      {PP_FRAME_SOURCE, PP_ASCII("_stream_response_in_pool"), PP_ASCII("grpc/_server.py"), "behavior",
                       NULL}},
    },
    {
        .kind = PP_CONTEXT_JOB,
        .title = "tasks of Celery",
        .module = "celery.app.trace",
        .version = "celery:__version__",
        .ways = {.text = {{.kind = PP_STEP_ITSELF}}},
        .functions = {{PP_FRAME_JOB, PP_ASCII("fast_trace_task"), PP_ASCII("celery/app/trace.py"), "task", NULL},
                      {PP_FRAME_JOB, PP_ASCII("trace_task_ret"), PP_ASCII("celery/app/trace.py"), "name", NULL},
                      /* up to 5.0 */
                      {PP_FRAME_JOB, PP_ASCII("_fast_trace_task"), PP_ASCII("celery/app/trace.py"), "task", NULL},
                      {PP_FRAME_JOB, PP_ASCII("_trace_task_ret"), PP_ASCII("celery/app/trace.py"), "name", NULL}},
    },
    {
        .kind = PP_CONTEXT_JOB,
        .title = "jobs of RQ",
        .module = "rq.job",
        .version = "rq.version:VERSION",
        .ways = {.text = {{PP_STEP_ATTRIBUTE, .name = "_func_name"}}},
        .functions = {{PP_FRAME_JOB, PP_ASCII("Job.perform"), PP_ASCII("rq/job.py"), "self", NULL}},
    },
    {
        .kind = PP_CONTEXT_JOB,
        .title = "messages of Dramatiq",
        .module = "dramatiq.worker",
        .version = "dramatiq:__version__",
        .ways =
            {
                .object = {{PP_STEP_ATTRIBUTE, .name = "_message"}},
                .text = {{PP_STEP_ATTRIBUTE, .name = "actor_name"}},
            },
        .functions = {{PP_FRAME_JOB, PP_ASCII("WorkerThread.process_message"), PP_ASCII("dramatiq/worker.py"), "message",
                       NULL},
                      {PP_FRAME_JOB, PP_ASCII("_WorkerThread.process_message"), PP_ASCII("dramatiq/worker.py"), "message",
                       NULL}},
    },
    {
        .kind = PP_CONTEXT_JOB,
        .title = "tasks of Huey",
        .module = "huey.api",
        .version = "huey:__version__",
        .ways = {.text = {{PP_STEP_ATTRIBUTE, .name = "name"}}},
        .functions = {{PP_FRAME_JOB, PP_ASCII("Huey._execute"), PP_ASCII("huey/api.py"), "task", NULL}},
    },
    {
        .kind = PP_CONTEXT_JOB,
        .title = "jobs of APScheduler",
        .module = "apscheduler.job",
        .version = "apscheduler:version",
        .ways = {.text = {{PP_STEP_ATTRIBUTE, .of = "apscheduler.job:Job", .name = "name"}}},
        .functions = {{PP_FRAME_JOB, PP_ASCII("run_job"), PP_ASCII("apscheduler/executors/base.py"), "job", NULL},
                      {PP_FRAME_JOB, PP_ASCII("run_coroutine_job"), PP_ASCII("apscheduler/executors/base.py"), "job", NULL},
                      {PP_FRAME_JOB, PP_ASCII("run_coroutine_job"), PP_ASCII("apscheduler/executors/base_py3.py"), "job",
                       NULL}},
    },
    {
        .kind = PP_CONTEXT_JOB,
        .title = "tasks of Prefect",
        .module = "prefect.task_engine",
        .version = "prefect:__version__",
        .ways = {.text = {{PP_STEP_ATTRIBUTE, .name = "name"}}}, /* of the task, or of the flow around it */
        .functions = {{PP_FRAME_JOB, PP_ASCII("run_task_sync"), PP_ASCII("prefect/task_engine.py"), "task", NULL},
                      {PP_FRAME_JOB, PP_ASCII("run_task_async"), PP_ASCII("prefect/task_engine.py"), "task", NULL},
                      {PP_FRAME_JOB, PP_ASCII("run_flow_sync"), PP_ASCII("prefect/flow_engine.py"), "flow", NULL},
                      {PP_FRAME_JOB, PP_ASCII("run_flow_async"), PP_ASCII("prefect/flow_engine.py"), "flow", NULL}},
    },
    {
        .kind = PP_CONTEXT_JOB,
        .title = "operations of Strawberry",
        .module = "strawberry.schema.schema",
        .ways = {.text = {{PP_STEP_ATTRIBUTE, .name = "_provided_operation_name"}}},
        .functions = {{PP_FRAME_JOB, PP_ASCII("Schema.execute"), PP_ASCII("strawberry/schema/schema.py"),
                       "execution_context", NULL},
                      {PP_FRAME_JOB, PP_ASCII("Schema.execute_sync"), PP_ASCII("strawberry/schema/schema.py"),
                       "execution_context", NULL}},
    },
    {
        .kind = PP_CONTEXT_JOB,
        .title = "cells of IPython",
        .module = "IPython.core.interactiveshell",
        .version = "IPython:__version__",
        .ways = {.text = {{.kind = PP_STEP_ITSELF}}}, /* its code: the first line is its name */
        .functions = {{PP_FRAME_JOB, PP_ASCII("InteractiveShell.run_cell_async"),
                       PP_ASCII("IPython/core/interactiveshell.py"), "raw_cell", NULL}},
    },
    {
        .kind = PP_CONTEXT_TEST,
        .title = "tests of pytest",
        .module = "_pytest.runner",
        .version = "_pytest._version:version",
        .ways =
            {
                /* since 9.1 the id is an object, which keeps its text when it is first asked for */
                .object = {{PP_STEP_SLOT, PP_MISSING_STAYS, .of = "_pytest.nodes:Node", .name = "_id"}},
                .text = {{PP_STEP_ATTRIBUTE, .of = "_pytest.nodes:Node", .name = "_nodeid"},
                         {PP_STEP_ATTRIBUTE, .of = "_pytest.nodeid:NodeId", .name = "_str_cache"}},
            },
        .functions = {{PP_FRAME_JOB, PP_ASCII("runtestprotocol"), PP_ASCII("_pytest/runner.py"), "item", NULL}},
    },
};
const unsigned pp_source_count = sizeof pp_sources / sizeof *pp_sources;
_Static_assert(sizeof pp_sources / sizeof *pp_sources <= PP_SOURCES_MAX, "raise PP_SOURCES_MAX");
