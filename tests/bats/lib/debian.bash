# shellcheck shell=bash
# A Debian 12 without anything, in which a test works as a newcomer does.

# In the test itself: in a subshell the skip would be lost.
needs_debian() {
    [ "$(id -u)" -eq 0 ] || skip "only root can make a Debian of its own"
    needs_namespaces --mount --pid --fork --mount-proc
}

# clean_debian: makes it; sets root, where it is, and home, a directory in it.
clean_debian() {
    local clean
    # shellcheck disable=SC2153 # helper.bash's
    clean=$("$ROOT/tests/roots.sh" bookworm) || fail "$clean"
    root=$BATS_TEST_TMPDIR/debian
    cp -a "$clean" "$root"
    take_network
    home=/srv/newcomer
    place=$home
    mkdir -p "$root$home"
}

# here COMMAND: in that Debian, in the directory $place; mounts end with the command.
here() {
    echo "\$ $1"
    # shellcheck disable=SC2016
    unshare --mount --pid --fork bash -c '
        mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" &&
        exec chroot "$0" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME="$1" TERM=xterm \
            LC_ALL=C.UTF-8 "${@:2}"' "$root" "$home" "${network[@]}" timeout -k 5 "$TIMEOUT" bash -c "cd $place && $1" </dev/null
}

# Without which this machine's network is not reached: no part of what a newcomer does.
take_network() {
    local file certificates=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
    for file in /etc/resolv.conf /etc/hosts /etc/pip.conf; do
        [ ! -e "$file" ] || install -D -m 644 "$file" "$root$file"
    done
    mapfile -t network < <(env | grep -E '^(PIP_INDEX_URL|PIP_DEFAULT_TIMEOUT|https?_proxy|no_proxy)=')
    # At a place of their own: packages write the usual one.
    if [ -e "$certificates" ]; then
        install -D -m 644 "$certificates" "$root/etc/test-certificates.crt"
        network+=(PIP_CERT=/etc/test-certificates.crt)
    fi
    printf 'APT::Get::Assume-Yes "true";\nAcquire::Retries "3";\nAcquire::Check-Valid-Until "false";\n' >"$root/etc/apt/apt.conf.d/99test"
}
