#!/bin/bash
# Interpreters that this Debian has no package of. tests/roots.sh NAME... makes what is missing and prints where it is:
#     sid      a Debian sid with its python3.14 and python3.15, gunicorn, gevent, uvloop, numpy and uwsgi
#     trixie   a Debian trixie with its python3.13
#     bullseye a Debian bullseye with its python3.9 and glibc 2.31
#     bookworm a Debian bookworm with nothing but its base: what a newcomer has; newcomer.bats works in a copy
#     3.13t    the free-threaded CPython 3.13, built from trixie's source package
#     musl     CPython 3.11 for musl, built from bookworm's source package with what needs no other library;
#              musl-3.13 of trixie's
#     arm64-musl   CPython 3.13 for musl on arm64, of trixie's packages, compiled by Debian's cross compiler
#     arm64    of a Debian bookworm for arm64 its python3.11, and what unit tests and wheel are linked with; runs under qemu-user
#     linux-SUITE-FLAVOUR   for tests/guest.sh the kernel that linux-image-FLAVOUR of this suite is, like linux-bookworm-amd64,
#              linux-trixie-arm64-16k: vmlinuz, and an initrd of busybox and the modules that the guest needs
#     container-profiles   what Docker and Podman forbid by default, from Debian's packages: docker.json and podman.json for
#              seccomp, docker-default for AppArmor
#     arm64-SUITE  of bullseye, trixie or sid for arm64 its pythons alone
# They live below ${XDG_CACHE_HOME:-~/.cache}/pyprof-tests and stay there; remove a directory to have it made again. The
# packages come from the mirror that this machine's apt uses, or from $DEBIAN_MIRROR.
#
# The interpreters are not run in a chroot but as programs of this system: each is given where its own loader and libraries
# are, which changes no code in it. So a test gives it to LD_PRELOAD, env and timeout like any other, its files, processes
# and working directory are the host's, and all that needs root is the making.
set -euo pipefail

cache=${XDG_CACHE_HOME:-$HOME/.cache}/pyprof-tests
# sid's Release files are valid for a week, and a mirror may be older than that.
apt_options=(-o Acquire::Check-Valid-Until=false -o Acquire::Retries=3)

sid_packages=(python3.14 python3.15 libpython3.14 libpython3.15 python3.14-venv python3.15-venv gunicorn python3-gevent python3-numpy python3-uvloop)
sid_uwsgi=(uwsgi-core uwsgi-plugin-python3)
trixie_packages=(python3.13 libpython3.13 python3.13-venv)
bullseye_packages=(python3.9 python3.9-venv)
declare -A musl_suites=([3.11]=bookworm [3.13]=trixie)
musl_options=(--enable-shared --disable-test-modules --with-ensurepip=no)
# What configure cannot try where the program does not run.
musl_cross_answers=(ac_cv_file__dev_ptmx=no ac_cv_file__dev_ptc=no ac_cv_buggy_getaddrinfo=no)
# As the compilers of musl's own distributions do; musl-gcc does not.
musl_linking=-Wl,--eh-frame-hdr
# They need libraries that Debian has for glibc only, or take long to compile.
musl_without=(_bz2 _lzma _ssl _hashlib _ctypes _sqlite3 _dbm _gdbm _curses _curses_panel readline nis _tkinter
    ossaudiodev _uuid _crypt spwd audioop _decimal _codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw
    _elementtree _lsprof)
declare -A arm64_pythons=([bullseye]=3.9 [bookworm]=3.11 [trixie]=3.13 [sid]='3.14 3.15')
arm64_packages=(libcmocka-dev libunwind-dev libdw-dev libelf-dev libiberty-dev zlib1g-dev liblzma-dev libbz2-dev libisal-dev)
arm64_uwsgi=(uwsgi-core uwsgi-plugin-python3)
container_packages=(golang-github-docker-docker-dev golang-github-containers-common)
# Disks, directories of the host, a random number generator; ext4 and overlay for roots.
kernel_modules=(virtio_pci virtio_mmio virtio_blk virtio_rng 9pnet_virtio 9p overlay ext4)
free_threaded_options=(--disable-gil --disable-test-modules --with-ensurepip=install)

unset LD_PRELOAD "${!PYPROF_@}"

die() {
    echo "tests/roots.sh: $*" >&2
    exit 1
}

# quietly LOG COMMAND...: shows the log's end when it fails.
quietly() {
    local log=$1
    shift
    if ! "$@" >>"$log" 2>&1 </dev/null; then
        tail -n 30 "$log" >&2
        die "failed: $* (whole output: $log)"
    fi
}

needs() {
    local name missing=()
    for name in "$@"; do
        command -v "$name" >/dev/null || missing+=("$name")
    done
    [ "${#missing[@]}" -eq 0 ] || die "needs ${missing[*]}: run tests/deps.sh"
}

# mirror SUITE: the first archive among apt's sources that has this suite of Debian. debootstrap and apt-get get it from there.
mirror() {
    local uri release
    release=$(mktemp)
    # shellcheck disable=SC2016
    for uri in ${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | awk '!seen[$0]++')}; do
        uri=${uri%/}
        if /usr/lib/apt/apt-helper download-file "$uri/dists/$1/InRelease" "$release" >/dev/null 2>&1 &&
            grep -q '^Origin: Debian$' "$release"; then
            rm -f "$release"
            echo "$uri"
            return
        fi
    done
    rm -f "$release"
    die "none of this machine's apt sources has Debian $1 (or there is no network); DEBIAN_MIRROR=URL names another"
}

# debootstrap fetches with wget, which does not read apt's configuration.
use_proxy_of_apt() {
    local http_proxy_of_apt=
    eval "$(apt-config shell http_proxy_of_apt Acquire::http::Proxy)"
    if [ -n "$http_proxy_of_apt" ] && [ -z "${http_proxy:-}" ]; then
        export http_proxy=$http_proxy_of_apt
    fi
}

# A run that was killed may have left them mounted, and what is mounted must not be removed with the rest.
clear_away() {
    local mounted
    for mounted in "$1"/proc "$1"/sys; do
        if mountpoint -q "$mounted" 2>/dev/null; then
            umount -l "$mounted"
        fi
    done
    rm -rf --one-file-system "$1"
}

inside() {
    local root=$1
    shift
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        ${http_proxy:+http_proxy="$http_proxy"} "$@"
}

# at_home ROOT PROGRAM: a program of the tree finds its loader and libraries there. An rpath, since unlike a runpath it also
# holds for what the program's libraries and modules need.
at_home() {
    local root=$1 program=$2 libraries
    libraries=$(printf '%s:' "$root"/{usr/,}lib/*-linux-gnu "$root"/usr/lib/*-linux-gnu/{blas,lapack})
    cp "$program" "$program.new"
    patchelf --set-interpreter "$root$(patchelf --print-interpreter "$program")" --force-rpath --set-rpath "${libraries%:}" \
        "$program.new"
    mv "$program.new" "$program"
}

# bootstrap SUITE ROOT LOG
bootstrap() {
    local suite=$1 root=$2 log=$3 uri
    if [ "$(id -u)" -ne 0 ]; then
        die "only root can make a Debian $suite (debootstrap and chroot): run tests/roots.sh $suite as root once, with HOME=$HOME"
    fi
    # Also what the sbin directories hold.
    PATH=$PATH:/usr/sbin:/sbin
    needs debootstrap patchelf chroot
    use_proxy_of_apt
    uri=$(mirror "$suite")
    quietly "$log" debootstrap --variant=minbase "$suite" "$root" "$uri"
}

# make_tree SUITE ROOT LOG PACKAGE...
make_tree() {
    local suite=$1 root=$2 log=$3 program
    shift 3
    bootstrap "$suite" "$root" "$log"
    quietly "$log" inside "$root" apt-get "${apt_options[@]}" update
    quietly "$log" inside "$root" apt-get "${apt_options[@]}" install -y --no-install-recommends "$@"
    if [ "$suite" = sid ] &&
        ! inside "$root" apt-get "${apt_options[@]}" install -y --no-install-recommends "${sid_uwsgi[@]}" >>"$log" 2>&1 </dev/null; then
        echo "tests/roots.sh: no uwsgi in sid today (see $log)" >&2
    fi
    rm -rf "$root"/var/cache/apt "$root"/var/lib/apt/lists "$root"/usr/share/{doc,man,locale}
    # Debian's ensurepip takes pip from here, by its whole path.
    sed -i "s|/usr/share/python-wheels|$root&|" "$root"/usr/lib/python3.*/_sysconfig*
    for program in "$root"/usr/bin/python3.[0-9]* "$root"/usr/bin/uwsgi-core; do
        if [ -f "$program" ] && [ ! -L "$program" ]; then
            at_home "$root" "$program"
        fi
    done
}

# An interpreter of its own, to be run like the others.
with_jit() {
    printf '#!/bin/sh\nPYTHON_JIT=1 exec %s "$@"\n' "$1" >"$1-jit"
    chmod 755 "$1-jit"
}

make_sid() {
    make_tree sid "$@" "${sid_packages[@]}"
    with_jit "$1/usr/bin/python3.14"
    with_jit "$1/usr/bin/python3.15"
}

make_bookworm() {
    bootstrap bookworm "$@"
}

make_trixie() {
    make_tree trixie "$@" "${trixie_packages[@]}"
}

make_bullseye() {
    local loader=$1/usr/lib64/ld-linux-x86-64.so.2
    make_tree bullseye "$@" "${bullseye_packages[@]}"
    ln -sfn "$1/usr$(readlink "$loader")" "$loader" # Debian's link says where it is in the tree
}

# of_archive DIRECTORY TYPE SUITE STATUS OPTION...: the archive's index, without touching the machine's own apt sources: any
# user may do that. STATUS: dpkg's list of what is installed. Leaves in `apt` the command that uses it.
of_archive() {
    local directory=$1 type=$2 suite=$3 status=$4 uri
    shift 4
    uri=$(mirror "$suite")
    mkdir -p "$directory"/{state/lists/partial,cache/archives/partial,parts}
    echo "$type [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite main" >"$directory/sources.list"
    apt=(apt-get "${apt_options[@]}" -o Dir::State="$directory/state" -o Dir::State::status="$status"
        -o Dir::Cache="$directory/cache" -o Dir::Etc::sourcelist="$directory/sources.list"
        -o Dir::Etc::sourceparts="$directory/parts" -o APT::Sandbox::User= "$@")
    "${apt[@]}" update
}

fetch_source() {
    local directory=$1 package=$2 apt
    of_archive "$directory" deb-src "$3" /var/lib/dpkg/status
    (cd "$directory" && "${apt[@]}" source --download-only "$package")
}

# Another processor's packages are unpacked, not installed: nothing of theirs runs.
fetch_packages() {
    local directory=$1 root=$2 suite=$3 apt package
    mkdir -p "$directory" "$root"
    : >"$directory/status"
    of_archive "$directory" deb "$suite" "$directory/status" -o APT::Architecture=arm64 -o APT::Architectures=arm64
    "${apt[@]}" --download-only -y --no-install-recommends install "${@:4}"
    for package in "$directory"/cache/archives/*.deb; do
        case ${package##*/} in
        libc6-dev_*) ;; # the cross compiler has its own
        *) dpkg-deb -x "$package" "$root" ;;
        esac
        # for `make deb`: which package has a library
        dpkg-deb -I "$package" shlibs >>"$root/shlibs" 2>/dev/null || true
    done
}

make_arm64() {
    local root=$1 log=$2 suite=$3 work=$1.packages version packages=()
    needs dpkg-deb patchelf qemu-aarch64-static
    [ "$suite" = bookworm ] && packages=("${arm64_packages[@]}" "${arm64_uwsgi[@]}")
    for version in ${arm64_pythons[$suite]}; do
        packages+=("python$version")
    done
    quietly "$log" fetch_packages "$work" "$root" "$suite" "${packages[@]}"
    rm -rf "$work"
    [ -d "$root/lib" ] || ln -s usr/lib "$root/lib" # since trixie packages have nothing there
    for version in ${arm64_pythons[$suite]}; do
        at_home "$root" "$root/usr/bin/python$version" >>"$log" 2>&1
    done
    [ "$suite" != bookworm ] || at_home "$root" "$root/usr/bin/uwsgi-core" >>"$log" 2>&1
}

# suite_of NAME: that of arm64-sid is sid.
suite_of() {
    [ "$1" = arm64 ] && echo bookworm || echo "${1#arm64-}"
}

# fetch_kernel DIRECTORY SUITE FLAVOUR: unpacks it there, without what it depends on.
fetch_kernel() {
    local directory=$1 architecture=${3#cloud-} apt package names
    architecture=${architecture%%-*}
    : >"$directory/status"
    of_archive "$directory" deb "$2" "$directory/status" -o APT::Architecture="$architecture" \
        -o APT::Architectures="$architecture"
    # Up to Debian 13 one package has all; later ones have image and modules apart.
    mapfile -t names < <("${apt[@]}" --simulate --no-install-recommends install "linux-image-$3" |
        awk '$1 == "Inst" && $2 ~ /^linux-(image|binary|modules)-[0-9]/ { print $2 }')
    (cd "$directory" && "${apt[@]}" download "${names[@]:?}" busybox-static && for package in *.deb; do
        dpkg-deb -x "$package" root
    done)
}

# make_initrd DIRECTORY INITRD: busybox and the modules, named in the order in which they are to be loaded. Its /init leaves the rest
# to the script that tests/guest.sh shares.
make_initrd() {
    local root=$1/root initrd=$1/initrd version module name
    # Newer packages have all in /usr.
    [ -d "$root/lib/modules" ] || ln -s usr/lib "$root/lib"
    [ -d "$root/bin" ] || ln -s usr/bin "$root/bin"
    version=$(basename "$root"/lib/modules/*)
    mkdir -p "$initrd"/{bin,proc,sys,dev,guest,modules}
    cp "$root/bin/busybox" "$initrd/bin/busybox"
    PATH=$PATH:/usr/sbin:/sbin
    depmod -b "$root" "$version"
    for name in "${kernel_modules[@]}"; do
        modprobe -d "$root" -S "$version" --show-depends "$name" || echo "builtin $name"
    done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r module; do
        name=$(printf '%02d-%s' "$(find "$initrd/modules" -type f | wc -l)" "$(basename "$module" .xz)")
        case $module in
        *.xz) xz -dc "$module" ;;
        *) cat "$module" ;;
        esac >"$initrd/modules/$name"
    done
    cat >"$initrd/init" <<'INIT'
#!/bin/busybox sh
export PATH=/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in /modules/*; do
    insmod "$module"
done
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 guest /guest
. /guest/start
INIT
    chmod 755 "$initrd/init"
    (cd "$initrd" && find . | cpio -o -H newc -R 0:0 --quiet) | gzip >"$2"
}

make_kernel() {
    local root=$1 log=$2 name=${1##*/linux-} work=$1.packages image
    needs dpkg-deb cpio xz
    mkdir -p "$root" "$work"
    quietly "$log" fetch_kernel "$work" "${name%%-*}" "${name#*-}"
    quietly "$log" make_initrd "$work" "$root/initrd"
    for image in "$work"/root/boot/vmlinuz-* "$work"/root/lib/modules/*/vmlinuz; do
        [ ! -e "$image" ] || cp "$image" "$root/vmlinuz"
    done
    rm -rf "$work"
}

# The template's only choices are of AppArmor's version, and what it includes.
make_container_profiles() {
    local root=$1 log=$2 work=$1.packages package apt docker=usr/share/gocode/src/github.com/docker/docker/profiles
    needs dpkg-deb
    mkdir -p "$root" "$work"
    : >"$work/status"
    quietly "$log" of_archive "$work" deb bookworm "$work/status"
    (cd "$work" && quietly "$log" "${apt[@]}" download "${container_packages[@]}")
    for package in "$work"/*.deb; do
        dpkg-deb -x "$package" "$work/all"
    done
    cp "$work/all/$docker/seccomp/default.json" "$root/docker.json"
    cp "$work/all/usr/share/containers/seccomp.json" "$root/podman.json"
    {
        echo '#include <tunables/global>'
        sed -e '1,/^const baseTemplate/d; /^`/,$d' -e 's/{{\.Name}}/docker-default/; s/{{\.DaemonProfile}}/unconfined/; /{{/d' \
            -e '/^profile/a\  #include <abstractions/base>' "$work/all/$docker/apparmor/template.go"
    } >"$root/docker-default"
    rm -rf "$work"
}

make_free_threaded() {
    local root=$1 log=$2 work=$1/source
    needs gcc make xz
    mkdir -p "$work"
    quietly "$log" fetch_source "$work" python3.13 trixie
    quietly "$log" tar -C "$work" --strip-components=1 -xf "$work"/python3.13_*.orig.tar.xz
    (
        cd "$work"
        unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS CPPFLAGS LDFLAGS CC
        quietly "$log" ./configure --prefix="$root" "${free_threaded_options[@]}"
        quietly "$log" make -j"$(nproc)"
        quietly "$log" make install
    )
    rm -rf "$work"
}

# write_musl_compiler FILE TRIPLET COMMAND: Debian's compiler for musl, which names the other libc when CPython's configure asks
# what it compiles for.
write_musl_compiler() {
    printf '%s\n' '#!/bin/sh' 'case "$*" in' "*-print-multiarch*) echo $2 ;;" "*) exec $3 ;;" 'esac' >"$1"
    chmod 755 "$1"
}

# musl_version NAME: that of musl-3.13 is 3.13.
musl_version() {
    case $1 in
    musl) echo 3.11 ;;
    arm64-musl) echo 3.13 ;;
    *) echo "${1#musl-}" ;;
    esac
}

# cross_to_musl ROOT WORK LOG: musl for arm64, and a compiler for it; its CPython is built with the help of Debian's, emulated.
# libgcc's functions for atomic operations need glibc.
cross_to_musl() {
    local root=$1 work=$2 log=$3 package apt helper
    helper=$(ready arm64-trixie)/usr/bin/python3.13
    mkdir -p "$work/packages"
    : >"$work/packages/status"
    quietly "$log" of_archive "$work/packages" deb trixie "$work/packages/status" -o APT::Architecture=arm64 -o APT::Architectures=arm64
    (cd "$work/packages" && quietly "$log" "${apt[@]}" download musl musl-dev)
    for package in "$work"/packages/*.deb; do
        dpkg-deb -x "$package" "$root"
    done
    sed -i -E "s,/usr/(lib|include)/,$root&,g; s,/lib/ld-musl,$root/usr&," "$root/usr/lib/aarch64-linux-musl/musl-gcc.specs"
    write_musl_compiler "$work/musl-cc" aarch64-linux-musl \
        "aarch64-linux-gnu-gcc \"\$@\" -mno-outline-atomics -specs $root/usr/lib/aarch64-linux-musl/musl-gcc.specs"
    printf '#!/bin/sh\nexec qemu-aarch64-static %s "$@"\n' "$helper" >"$work/helper-python"
    chmod 755 "$work/helper-python"
}

# Compiled as fast as it can be: no tests run it for long. `make install` would compile the library three times.
make_musl() {
    local root=$1 log=$2 version=$3 work=$1/source library=$1/lib/python$3 options=("${musl_options[@]}")
    needs musl-gcc make
    mkdir -p "$work"
    quietly "$log" fetch_source "$work" "python$version" "${musl_suites[$version]}"
    quietly "$log" tar -C "$work" --strip-components=1 -xf "$work"/"python$version"_*.orig.tar.?z
    quietly "$log" fetch_source "$work/zlib" zlib bookworm # for pip
    quietly "$log" tar -C "$work/zlib" --strip-components=1 -xf "$work"/zlib/zlib_*.orig.tar.*
    if [[ $root == */arm64-musl ]]; then
        needs aarch64-linux-gnu-gcc qemu-aarch64-static dpkg-deb
        cross_to_musl "$root" "$work" "$log"
        options+=(--host=aarch64-linux-musl --build="$(gcc -dumpmachine)" --with-build-python="$work/helper-python" "${musl_cross_answers[@]}")
    else
        write_musl_compiler "$work/musl-cc" x86_64-linux-musl 'musl-gcc "$@"'
    fi
    (
        unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS CPPFLAGS LDFLAGS
        [[ $root != */arm64-musl ]] || export AR=aarch64-linux-gnu-ar RANLIB=aarch64-linux-gnu-ranlib READELF=aarch64-linux-gnu-readelf
        export CC=$work/musl-cc OPT="-DNDEBUG -fwrapv -O1"
        cd "$work/zlib"
        quietly "$log" env CFLAGS='-O1 -fPIC' ./configure --static
        quietly "$log" make -j"$(nproc)" libz.a
        cd "$work"
        export LDFLAGS="$musl_linking -Wl,-rpath,$root/lib" ZLIB_CFLAGS="-I$work/zlib" ZLIB_LIBS="$work/zlib/libz.a"
        printf '%s\n' '*disabled*' "${musl_without[@]}" >Modules/Setup.local
        quietly "$log" ./configure --prefix="$root" "${options[@]}"
        quietly "$log" make -j"$(nproc)"
        quietly "$log" make altbininstall
    )
    rm -rf "$work"/Lib/{test,idlelib,lib2to3,tkinter,turtledemo,ensurepip,distutils}
    mkdir -p "$library"
    cp -r "$work"/Lib/. "$library"
    cp -rL "$work"/build/lib.*/. "$library/lib-dynload" # since 3.12 they are links
    rm -rf "$work"
}

# works NAME DIRECTORY: what the tests cannot do without.
works() {
    local python pythons=()
    case $1 in
    sid) pythons=("$2"/usr/bin/python3.14 "$2"/usr/bin/python3.15) ;;
    trixie) pythons=("$2"/usr/bin/python3.13) ;;
    bullseye) pythons=("$2"/usr/bin/python3.9) ;;
    3.13t) pythons=("$2"/bin/python3.13t) ;;
    musl* | arm64-musl)
        [ "$1" != arm64-musl ] || pythons=(qemu-aarch64-static)
        "${pythons[@]}" "$2/bin/python$(musl_version "$1")" -c 'import asyncio, hashlib, json, multiprocessing.synchronize; hashlib.md5(b"")' || return
        pythons=()
        ;;
    arm64*)
        for python in ${arm64_pythons[$(suite_of "$1")]}; do
            qemu-aarch64-static "$2/usr/bin/python$python" -c 'import ctypes, hashlib, json, zlib' || return
        done
        ;;
    esac
    for python in "${pythons[@]}"; do
        "$python" -c 'import ctypes, hashlib, json, multiprocessing, ssl, venv, zlib; hashlib.md5(b"")' || return
    done
}

# ready NAME: one run makes it, others wait for that one. Only what was made whole, by the present recipe, has the stamp.
ready() {
    local name=$1 root=$cache/$1 recipe log=$cache/$1.log lock
    case $name in
    sid) recipe="1 ${sid_packages[*]} ${sid_uwsgi[*]}" ;;
    bookworm) recipe="1" ;;
    trixie) recipe="1 ${trixie_packages[*]}" ;;
    bullseye) recipe="1 ${bullseye_packages[*]}" ;;
    3.13t) recipe="1 ${free_threaded_options[*]}" ;;
    musl | musl-3.13 | arm64-musl) recipe="1 $musl_linking ${musl_options[*]} ${musl_without[*]}" ;;
    arm64) recipe="2 python${arm64_pythons[bookworm]} ${arm64_packages[*]} ${arm64_uwsgi[*]}" ;;
    arm64-bullseye | arm64-trixie | arm64-sid) recipe="1 ${arm64_pythons[$(suite_of "$name")]}" ;;
    container-profiles) recipe="1 ${container_packages[*]}" ;;
    linux-*-*) recipe="1 ${kernel_modules[*]}" ;;
    *) die "there is no $name; there are sid, trixie, bullseye, bookworm, 3.13t, musl, musl-VERSION, arm64, arm64-SUITE, arm64-musl, container-profiles and linux-SUITE-FLAVOUR" ;;
    esac
    if [ "$(cat "$root/made" 2>/dev/null)" != "$recipe" ]; then
        mkdir -p "$cache"
        # The lock is inherited by all that this starts: it is free when the last of them has ended.
        exec {lock}>"$cache/$name.lock"
        flock "$lock"
        if [ "$(cat "$root/made" 2>/dev/null)" != "$recipe" ]; then
            clear_away "$root"
            : >"$log"
            case $name in
            sid) make_sid "$root" "$log" ;;
            bookworm) make_bookworm "$root" "$log" ;;
            trixie) make_trixie "$root" "$log" ;;
            bullseye) make_bullseye "$root" "$log" ;;
            3.13t) make_free_threaded "$root" "$log" ;;
            musl* | arm64-musl) make_musl "$root" "$log" "$(musl_version "$name")" ;;
            arm64*) make_arm64 "$root" "$log" "$(suite_of "$name")" ;;
            container-profiles) make_container_profiles "$root" "$log" ;;
            linux-*) make_kernel "$root" "$log" ;;
            esac
            quietly "$log" works "$name" "$root"
            echo "$recipe" >"$root/made"
        fi
        exec {lock}>&-
    fi
    echo "$root"
}

case ${1:-} in
"" | -*) die "usage: tests/roots.sh sid | trixie | bullseye | bookworm | 3.13t | musl[-VERSION] | arm64[-SUITE] | arm64-musl | container-profiles | linux-SUITE-FLAVOUR ..." ;;
esac
for name in "$@"; do
    ready "$name"
done
