/* Compiled several times with another SIZE, so that each has its code elsewhere and other frames in its functions. */
long plug_work(long rounds);

static volatile char padding[SIZE];

__attribute__((noinline)) static long spin(long rounds)
{
    volatile long local[SIZE % 64 + 1];
    local[0] = 1;
    for (long i = 0; i < rounds; i++)
        local[0] += i ^ padding[i % SIZE];
    return local[0];
}

long plug_work(long rounds)
{
    return spin(rounds) | 1;
}
