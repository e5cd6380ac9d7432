// C++ exceptions in flight, through frames with destructors, handlers that rethrow, and a C function in between.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

long destroyed;

struct guard {
    explicit guard(long n) : text(static_cast<std::size_t>(n % 50 + 1), 'x') {}
    ~guard() { destroyed += static_cast<long>(text.size()); }
    std::string text;
};

__attribute__((noinline)) long down(int depth, long n)
{
    guard g(n);
    if (depth == 0)
        throw std::runtime_error(g.text + " thrown");
    if (depth % 3 == 1) {
        try {
            return down(depth - 1, n) + 1;
        } catch (const std::logic_error &) {
            return 0;
        } catch (...) {
            destroyed++;
            throw;
        }
    }
    return down(depth - 1, n + 1) + static_cast<long>(g.text.size());
}

int compare(const void *a, const void *b)
{
    long x = *static_cast<const long *>(a), y = *static_cast<const long *>(b);
    if (x + y == 12345)
        throw std::out_of_range("compare");
    return (x > y) - (x < y);
}

__attribute__((noinline)) void through_c(long n)
{
    std::vector<long> values;
    for (long i = 0; i < 64; i++)
        values.push_back((i * 7919 + n) % 1009);
    values[10] = 12345 - values[11];
    try {
        std::qsort(values.data(), values.size(), sizeof(long), compare);
    } catch (const std::exception &e) {
        destroyed += e.what()[0];
    }
}

__attribute__((noinline)) void containers(long n)
{
    std::map<std::string, std::function<long(long)>> map;
    for (long i = 0; i < 30; i++)
        map[std::to_string(i * n)] = [i](long x) { return x + i; };
    std::vector<std::string> keys;
    for (auto &entry : map)
        keys.push_back(entry.first + std::to_string(entry.second(n)));
    std::sort(keys.begin(), keys.end(), [](const std::string &a, const std::string &b) { return a > b; });
    try {
        destroyed += static_cast<long>(map.at("absent")(1));
    } catch (const std::out_of_range &) {
        destroyed++;
    }
}

} // namespace

extern "C" long throw_and_catch(int times)
{
    for (int i = 0; i < times; i++) {
        try {
            destroyed += down(i % 12 + 1, i);
        } catch (const std::exception &e) {
            destroyed += e.what()[0];
        }
        through_c(i);
        containers(i);
    }
    return destroyed;
}
