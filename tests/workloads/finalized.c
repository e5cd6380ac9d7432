/* A program that ends its Python and goes on: finalized MODE LIBPYTHON
 *
 * sleepers: ten lives of the interpreter, each leaves four daemon threads asleep in select
 * native: a thread that has run Python waits in epoll_wait while the interpreter ends; prints what epoll_wait returned
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define LIVES   10
#define WAIT_MS 1500

static void (*initialize)(int);
static int (*finalize)(void);
static int (*run)(const char *);
static int (*ensure)(void);
static void (*release)(int);
static void *(*save)(void);
static void (*restore)(void *);

static int load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return -1;
    }
    *(void **)&initialize = dlsym(library, "Py_InitializeEx");
    *(void **)&finalize = dlsym(library, "Py_FinalizeEx");
    *(void **)&run = dlsym(library, "PyRun_SimpleString");
    *(void **)&ensure = dlsym(library, "PyGILState_Ensure");
    *(void **)&release = dlsym(library, "PyGILState_Release");
    *(void **)&save = dlsym(library, "PyEval_SaveThread");
    *(void **)&restore = dlsym(library, "PyEval_RestoreThread");
    return initialize && finalize && run && ensure && release && save && restore ? 0 : -1;
}

static int sleepers(void)
{
    int bad = 0;
    for (int i = 0; i < LIVES; i++) {
        initialize(0);
        bad |= run("import select, threading, time\n"
                   "def wait():\n"
                   "    while True:\n"
                   "        select.select([], [], [], 1000)\n"
                   "for _ in range(4):\n"
                   "    threading.Thread(target=wait, daemon=True).start()\n"
                   "time.sleep(0.05)\n"
                   "end = time.time() + 0.1\n"
                   "while time.time() < end:\n"
                   "    pass\n");
        finalize();
    }
    return bad;
}

static void *event_loop(void *argument)
{
    int state = ensure();
    run("for i in range(2000000):\n    pass\n");
    release(state);
    struct epoll_event event;
    int epoll = epoll_create1(0);
    *(int *)argument = epoll_wait(epoll, &event, 1, WAIT_MS) < 0 ? errno : 0;
    close(epoll);
    return NULL;
}

static int native(void)
{
    pthread_t thread;
    int error = -1;
    initialize(0);
    void *state = save();
    if (pthread_create(&thread, NULL, event_loop, &error) != 0)
        return 1;
    usleep(WAIT_MS * 500);
    restore(state);
    finalize();
    pthread_join(thread, NULL);
    printf("%s\n", error ? strerror(error) : "timeout");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3 || load(argv[2]) != 0)
        return 2;
    return strcmp(argv[1], "native") == 0 ? native() : sleepers();
}
