// Templates and a lambda, inlined into each other. See native_lines.bats, which knows the names.
#include <vector>

namespace numbers
{

template <typename T> struct Mixer {
    std::vector<T> state;

    template <typename F> inline __attribute__((always_inline)) T mix(T x, F step) const
    {
        for (T part : state)
            x = step(x, part);
        return x;
    }
};

inline __attribute__((always_inline)) unsigned spin(unsigned x, unsigned part)
{
    for (int i = 0; i < 8; i++)
        x = x * x + (x >> 3) + part;
    return x;
}

} // namespace numbers

extern "C" unsigned hot(unsigned rounds)
{
    numbers::Mixer<unsigned> mixer{{1, 2, 3, 4, 5}};
    unsigned sum = 0;
    for (unsigned i = 0; i < rounds; i++)
        sum += mixer.mix(i, [](unsigned x, unsigned part) { return numbers::spin(x, part); });
    return sum;
}
