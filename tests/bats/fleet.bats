# Many machines, and one on which everything dies: contrib/fleet, and what is pushed and served meanwhile.
load lib/helper

setup() {
    prepare
    unset "${!OTEL_@}"
    export no_proxy=127.0.0.1 LIBPYPROF PYPROF PYTHON
}

# kill_at_random SECONDS
kill_at_random() {
    timeout $(($1 + 300)) /usr/bin/python3 "$ROOT/tests/bats/lib/random_kills.py" "$1" >kills.txt 2>&1 || fail "$(cat kills.txt)"
    cat kills.txt
}

@test "services, pusher, server and its clients are killed at random: what is sent is what the logs have" {
    kill_at_random 20
}

# bats test_tags=long
@test "the same for ten minutes" {
    kill_at_random 600
}

@test "contrib/fleet/simulate.py: pushers that are spread do not come at once, and all is sent after an outage" {
    /usr/bin/python3 "$ROOT/contrib/fleet/simulate.py" 300 120 60 >simulated.txt
    /usr/bin/python3 - <<'END'
import re
spread, aligned = ([int(n) for n in re.findall(r"\d+", line)] for line in open("simulated.txt").read().splitlines()[1:])
assert 20 <= spread[0] < 60 and aligned[0] >= 300, (spread, aligned)  # 300 hosts, windows of 15 s
assert spread[2] < 120 and spread[3] < 600, spread
END
}
