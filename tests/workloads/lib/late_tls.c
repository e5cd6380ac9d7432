/* A library whose thread-local storage is loaded late: copies of it enlarge the DTV of each thread that uses it. */
long used_here(void);

static __thread long used[2] __attribute__((tls_model("global-dynamic")));

long used_here(void)
{
    return used[0]++;
}
