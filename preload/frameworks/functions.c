/* SPDX-License-Identifier: Apache-2.0 */
#include "functions.h"
#include <stddef.h>

const struct pp_function pp_functions[] = {
    {PP_FRAME_THREAD, PP_ASCII("Thread._bootstrap"), PP_ASCII("threading.py"), "self", NULL},
    {PP_FRAME_LOOP, PP_ASCII("Handle._run"), PP_ASCII("asyncio/events.py"), NULL, NULL},
    {PP_FRAME_LOOP, PP_ASCII("Runner.run"), PP_ASCII("asyncio/runners.py"), NULL, NULL},
    {PP_FRAME_STEP, PP_ASCII("Task.__step"), PP_ASCII("asyncio/tasks.py"), "self", NULL},
    {PP_FRAME_STEP, PP_ASCII("Task.__step_run_and_handle_result"), PP_ASCII("asyncio/tasks.py"), "self",
     NULL}, /* 3.12+ */
    {PP_FRAME_TRIO, PP_ASCII("unrolled_run"), PP_ASCII("trio/_core/_run.py"), "task", NULL},
    {PP_FRAME_FROM_THREAD, PP_ASCII("AsyncIOBackend.run_async_from_thread.<locals>.task_wrapper"),
     PP_ASCII("anyio/_backends/_asyncio.py"), "scope", NULL},
    {PP_FRAME_HUB, PP_ASCII("Hub.run"), PP_ASCII("gevent/hub.py"), NULL, NULL},
    {PP_FRAME_HUB, PP_ASCII("BaseHub.run"), PP_ASCII("eventlet/hubs/hub.py"), NULL, NULL},
    {PP_FRAME_HUB, PP_ASCII("Hub.run"), PP_ASCII("eventlet/hubs/asyncio.py"), NULL, NULL},
    {PP_FRAME_CALLS, PP_ASCII("GreenThread.main"), PP_ASCII("eventlet/greenthread.py"), "function", NULL},
    {PP_FRAME_CALLS, PP_ASCII("GreenPool._spawn_n_impl"), PP_ASCII("eventlet/greenpool.py"), "func", NULL},
    {PP_FRAME_REQUEST, PP_ASCII("SyncWorker.handle_request"), PP_ASCII("gunicorn/workers/sync.py"), NULL, NULL},
    {PP_FRAME_REQUEST, PP_ASCII("ThreadWorker.handle_request"), PP_ASCII("gunicorn/workers/gthread.py"), NULL, NULL},
    {PP_FRAME_REQUEST, PP_ASCII("AsyncWorker.handle_request"), PP_ASCII("gunicorn/workers/base_async.py"), NULL, NULL},
    {PP_FRAME_REQUEST, PP_ASCII("BaseHandler.run"), PP_ASCII("wsgiref/handlers.py"), NULL, NULL},
    {PP_FRAME_REQUEST, PP_ASCII("WSGIRequestHandler.run_wsgi"), PP_ASCII("werkzeug/serving.py"), NULL, NULL},
    {PP_FRAME_REQUEST, PP_ASCII("WSGITask.execute"), PP_ASCII("waitress/task.py"), NULL, NULL},
    {PP_FRAME_REQUEST, PP_ASCII("ClosingIterator.__next__"), PP_ASCII("werkzeug/wsgi.py"), NULL, NULL},
    {PP_FRAME_CYCLE, PP_ASCII("RequestResponseCycle.run_asgi"), PP_ASCII("uvicorn/protocols/http/h11_impl.py"), "self",
     NULL},
    {PP_FRAME_CYCLE, PP_ASCII("RequestResponseCycle.run_asgi"), PP_ASCII("uvicorn/protocols/http/httptools_impl.py"),
     "self", NULL},
    {PP_FRAME_WORK, PP_ASCII("_WorkItem.run"), PP_ASCII("concurrent/futures/thread.py"), "self", NULL},
    {PP_FRAME_WORKER, PP_ASCII("WorkerThread.run"), PP_ASCII("anyio/_backends/_asyncio.py"), "future", NULL},
    /* since trio 0.23 */
    {PP_FRAME_TRIO_WORKER, PP_ASCII("to_thread_run_sync.<locals>.worker_fn"), PP_ASCII("trio/_threads.py"),
     "task_register", NULL},
    {.rule = PP_FRAME_ANY},
};
