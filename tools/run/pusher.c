/* SPDX-License-Identifier: Apache-2.0 */
#include "pusher.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../base/library_path.h"
#include "../base/memory.h"
#include "../base/print.h"
#include "../push/target.h"

#define LONGEST_MS 30000 /* it ends within ten seconds, and a request's time-out */

bool pt_pusher_check(const char *text)
{
    PT_AUTO(pt_push_target_free) struct pt_push_target target = {0};
    PT_AUTO(pt_pairs_free) struct pt_pairs headers = {0};
    return pt_push_url_take(&target.url, "--push", text) && pt_push_headers(&target, &headers);
}

void pt_pusher_start(struct pt_pusher *pusher, const char *url, const char *directory, const char *run)
{
    PT_AUTO_FREE char *path = pt_own_path();
    char *arguments[] = {"pyprof", "push",      "--with-parent",   "--to", (char *)url,
                         "--run",  (char *)run, (char *)directory, NULL};
    posix_spawnattr_t attributes;
    pid_t child = 0;
    pusher->process = -1;
    posix_spawnattr_init(&attributes);
    /* A group of its own: what is typed at the terminal is for the command. */
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    int error = posix_spawn(&child, path, NULL, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    /* The wait for the command reaps it, too. */
    if (!error && (pusher->process = (int)syscall(SYS_pidfd_open, child, 0)) < 0) {
        error = errno;
        kill(child, SIGKILL);
    }
    if (error)
        pt_error("nothing is pushed: cannot run pyprof push: %s", strerror(error));
    unsetenv("PYPROF_PUSH_HEADERS");
}

void pt_pusher_end(struct pt_pusher *pusher)
{
    struct pollfd ended = {.fd = pusher->process, .events = POLLIN};
    if (pusher->process < 0)
        return;
    if (syscall(SYS_pidfd_send_signal, pusher->process, SIGTERM, NULL, 0) == 0)
        poll(&ended, 1, LONGEST_MS);
    close(pusher->process);
    pusher->process = -1;
}
