/* Preloaded beside libpyprof, this has a program begin paused: no sample's stack depends on when a tick fell. */
int pyprof_pause(void) __attribute__((weak));

__attribute__((constructor)) static void begin_paused(void)
{
    if (pyprof_pause)
        pyprof_pause();
}
