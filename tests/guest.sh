#!/bin/bash
# Runs a command under another kernel or processor, in a guest of qemu, and exits with its status:
#     tests/guest.sh [OPTION...] ARCH KERNEL ROOT -- COMMAND...
# ARCH    amd64 or arm64
# KERNEL  one of tests/roots.sh, like linux-bookworm-arm64, which is made if it is not there
# ROOT    a directory, or an image of an ext4. The guest's / is that with a tmpfs above it, so nothing is written to it.
#         A directory is also found by its path here; / of this machine serves a guest of the same processor.
# -s DIRECTORY  shared: it has the same path in the guest, and what is written there is here at once. May be repeated
# -w DIRECTORY  where the command starts; without, in /
# -t SECONDS    time limit of the whole (600); the status then is 124
# -m MIB        memory (1024)
# -c CPUS       processors (2)
# -a WORDS      more for the kernel's command line
# -q WORDS      more options of qemu
# The command is root, has no standard input, and what it prints comes out here. /tmp is a tmpfs. A guest that does not end
# with the command, by a panic, say, has the status 125; GUEST_VERBOSE=1 shows what its kernel says. qemu translates, for /dev/kvm
# may be there and run no kernel of Debian's; GUEST_ACCEL=kvm has it run on this machine's own processor.
set -euo pipefail
cd "$(dirname "$0")/.."

die() {
    echo "tests/guest.sh: $*" >&2
    exit 125
}

shares=()
start=/ seconds=600 memory=1024 processors=2 kernel_words='' qemu_words=''
while getopts s:w:t:m:c:a:q: option; do
    case $option in
    s) shares+=("$(realpath "$OPTARG")") ;;
    w) start=$OPTARG ;;
    t) seconds=$OPTARG ;;
    m) memory=$OPTARG ;;
    c) processors=$OPTARG ;;
    a) kernel_words=$OPTARG ;;
    q) qemu_words=$OPTARG ;;
    *) exit 125 ;;
    esac
done
shift $((OPTIND - 1))
if [ $# -lt 5 ] || [ "$4" != -- ]; then
    die "usage: tests/guest.sh [OPTION...] ARCH KERNEL ROOT -- COMMAND..."
fi
architecture=$1 kernel=$2 root=$(realpath "$3")
shift 4

case $architecture in
amd64) machine=(qemu-system-x86_64 -M q35) console=ttyS0 cpu=max ;;
# To sign return addresses by the architecture's own algorithm takes a translator long.
arm64) machine=(qemu-system-aarch64 -M "virt,gic-version=3") console=ttyAMA0 cpu=max,pauth-impdef=on ;;
*) die "no $architecture: amd64 or arm64" ;;
esac
if [ "${GUEST_ACCEL:-tcg}" = kvm ]; then
    machine+=(-accel kvm -cpu host)
else
    machine+=(-accel tcg -cpu "$cpu")
fi
command -v "${machine[0]}" >/dev/null || die "no ${machine[0]}: run tests/deps.sh long"
kernel=$(tests/roots.sh "$kernel" | tail -n 1)

guest=$(mktemp -d)
trap 'rm -rf "$guest"' EXIT
# share DIRECTORY TAG OPTIONS
# Only root can give files to other users.
model=none
[ "$(id -u)" -ne 0 ] || model=passthrough
devices=()
share() {
    devices+=(-fsdev "local,id=$2,path=$1,security_model=$model,multidevs=remap$3" -device "virtio-9p-pci,fsdev=$2,mount_tag=$2")
}
share "$guest" guest ''
mount_9p='mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144'
{
    echo 'mkdir /lower /upper /new'
    if [ -d "$root" ]; then
        share "$root" root ,readonly=on
        echo "$mount_9p,ro,cache=loose root /lower"
    else
        devices+=(-drive "file=$root,format=raw,if=none,id=root,snapshot=on" -device "virtio-blk-pci,drive=root")
        echo 'mount -t ext4 -o ro,noload /dev/vda /lower'
    fi
    echo 'mount -t tmpfs tmpfs /upper
mkdir /upper/upper /upper/work
mount -t overlay -o lowerdir=/lower,upperdir=/upper/upper,workdir=/upper/work root /new
cd /new
mkdir -p proc sys dev tmp run root
mount -t proc proc proc
mount -t sysfs sys sys
mount -t devtmpfs dev dev
mkdir -p dev/pts dev/shm
mount -t devpts -o gid=5,mode=620,ptmxmode=666 pts dev/pts
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t tmpfs -o mode=755 tmpfs run
mount -t cgroup2 cgroup sys/fs/cgroup && echo "+cpu +memory +pids" >sys/fs/cgroup/cgroup.subtree_control
mount -t securityfs security sys/kernel/security
ln -sf /proc/self/fd dev/fd
ln -sf /proc/self/fd/0 dev/stdin
ln -sf /proc/self/fd/1 dev/stdout
ln -sf /proc/self/fd/2 dev/stderr
ip link set lo up
hostname guest
cp /bin/busybox run/busybox
[ -e bin/sh ] || chroot . /run/busybox --install -s /bin'
    if [ -d "$root" ] && [ "$root" != / ]; then
        printf 'mkdir -p .%q\nln -s / .%q\n' "$(dirname "$root")" "$root"
    fi
    for i in "${!shares[@]}"; do
        share "${shares[i]}" "share$i" ''
        printf "rm -f .%q 2>/dev/null\nmkdir -p .%q\n$mount_9p,cache=mmap share$i .%q\n" "${shares[i]}" "${shares[i]}" "${shares[i]}"
    done
    # The move, since a program below a chroot may make no user namespace.
    echo 'cp /guest/command run/command
stty -opost <'"/dev/$console"'
mount --move . /
chroot . /bin/sh /run/command </dev/null
echo $? >/guest/status
sync
poweroff -f'
} >"$guest/start"
{
    echo 'export PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin HOME=/root LC_ALL=C.UTF-8'
    printf 'cd %q || exit\n' "$start"
    printf '%q ' "$@"
    echo
} >"$guest/command"

loud=quiet
[ -z "${GUEST_VERBOSE:-}" ] || loud=
# shellcheck disable=SC2086
timeout -k 5 "$seconds" "${machine[@]}" $qemu_words -m "$memory" -smp "$processors" -nodefaults -no-reboot -display none \
    -serial stdio -monitor none -kernel "$kernel/vmlinuz" -initrd "$kernel/initrd" "${devices[@]}" -device virtio-rng-pci \
    -append "console=$console panic=-1 ${loud:+quiet loglevel=1} $kernel_words" </dev/null |
    grep -av --line-buffered ' reboot: Power down' && ended=0 || ended=("${PIPESTATUS[@]}")
[ "${ended[0]}" -ne 124 ] || exit 124
exit "$(cat "$guest/status" 2>/dev/null || echo 125)"
