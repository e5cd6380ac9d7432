/* A function that spends its time two inlined calls deep. See native_lines.bats, which knows the names. */
unsigned hot(unsigned rounds);

static inline __attribute__((always_inline)) unsigned square(unsigned x)
{
    unsigned y = x;
    for (int i = 0; i < 40; i++)
        y = y * y + (y >> 3); /* line: square */
    return y;
}

static inline __attribute__((always_inline)) unsigned middle(unsigned x)
{
    return square(x + 1) ^ 5; /* line: middle */
}

static __attribute__((noinline)) unsigned hidden(unsigned rounds)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < rounds; i++)
        sum += middle(i); /* line: hidden */
    return sum;
}

unsigned hot(unsigned rounds)
{
    return hidden(rounds) + 1;
}
