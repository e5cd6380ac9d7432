# Containers as Docker, Podman and Kubernetes make them, by runc: with contrib/kubernetes and contrib/docker, under the seccomp
# and AppArmor profiles that they have by default.
load lib/helper

setup_file() {
    if ! CONTAINER_PROFILES=$("$BATS_TEST_DIRNAME/../roots.sh" container-profiles 2>&1); then
        [ -z "${CI:-}" ] || { echo "$CONTAINER_PROFILES" && return 1; }
        skip "${CONTAINER_PROFILES##*$'\n'}"
    fi
    export CONTAINER_PROFILES
}

setup() {
    prepare
    [ "$(id -u)" -eq 0 ] || skip "only root makes containers here"
    needs_namespaces -m -p -n -i -u -f
    PYTHON=/usr/bin/python3.11
    [ -x "$PYTHON" ] || skip "no $PYTHON"
    export PYTHON VERSION
    VERSION=$("$PYTHON" -c 'import platform; print(platform.python_version())')
    venv=$(venv_with gunicorn) || fail "$venv"
    make -C "$ROOT" -s BUILD="$BUILD" PREFIX=/usr/local DESTDIR="$PWD/out" install
    write_images
}

# What the images have that contrib's files build upon. "image" is one without the library, which is put in by hand.
write_images() {
    "$PYTHON" - "$(realpath "$venv")/lib/python3.11/site-packages" >images.json <<'END'
import json, os, sys

musl, build, workloads = os.environ.get("MUSL_ROOT"), os.environ["BUILD"], os.environ["WORKLOADS"]
app = {"/app": workloads, "/packages": sys.argv[1], "/opt/pyprof": build}
merged = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}
of_debian = {path: path for path in ("/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64")}
users = {"/etc/passwd": "www-data:x:33:33:::\nnobody:x:65534:65534:::\n", "/etc/group": "www-data:x:33:\nnobody:x:65534:\n"}
gunicorn = "#!%s\nfrom gunicorn.app.wsgiapp import run\nrun()\n"
configuration = {**users, "/etc/ld.so.conf": "/usr/local/lib\n/lib/x86_64-linux-gnu\n/usr/lib/x86_64-linux-gnu\n"}
debian = {"mounts": {**of_debian, **app}, "links": merged, "environment": {"PYTHONPATH": "/packages"},
          "files": {**configuration, "/usr/local/bin/gunicorn": gunicorn % "/usr/bin/python3.11"}}
# A bound on costs that is the test's own holds in containers too.
if "PYPROF_MAX_OVERHEAD" in os.environ:
    debian["environment"]["PYPROF_MAX_OVERHEAD"] = os.environ["PYPROF_MAX_OVERHEAD"]
library = os.path.join(os.getcwd(), "out/usr/local/lib")
images = {
    "app": debian,
    "slim": debian,
    "image": {**debian, "mounts": {**debian["mounts"], "/usr/local/lib": library},
              "environment": {**debian["environment"], "LD_PRELOAD": "/usr/local/lib/libpyprof.so", "PYPROF_OUT": "/profiles"},
              "command": ["gunicorn", "-w", "2", "-b", "127.0.0.1:8000", "wsgi_app:app"]},
    "pyprof": {"mounts": {**of_debian, "/library": library}, "links": {**merged, "libpyprof.so": "library/libpyprof.so"},
               "out": os.path.join(os.getcwd(), "out"), "directory": "/"},
    # No shell, and nothing but Python and what it needs.
    "distroless": {"mounts": {"/usr/lib": "/usr/lib", "/usr/lib64": "/usr/lib64", **app},
                   "links": {"lib": "usr/lib", "lib64": "usr/lib64", "/usr/bin/python3": "python3.11"}, "files": users,
                   "copies": {"/usr/bin/python3.11": "/usr/bin/python3.11"}},
}
if musl:
    # gunicorn imports modules that our interpreter for musl does not have, and uses nothing of them here.
    stub = 'def __getattr__(name):\n    return type(name, (OSError,), {}) if name.endswith("Error") else 2\n'
    images["alpine"] = {
        "mounts": {"/usr/lib/x86_64-linux-musl": "/usr/lib/x86_64-linux-musl", musl: musl, **app},
        "links": {"/lib/ld-musl-x86_64.so.1": "/usr/lib/x86_64-linux-musl/libc.so",
                  **{"/bin/" + name: "busybox" for name in ("sh", "env", "mkdir", "chown")}},
        "files": {**users, "/usr/local/bin/gunicorn": gunicorn % (musl + "/bin/python3.11"), "/stubs/ssl.py": stub, "/stubs/binascii.py": stub},
        "copies": {"/bin/busybox": "/bin/busybox"}, "environment": {"PYTHONPATH": "/packages:/stubs"},
    }
print(json.dumps(images))
END
}

end_of_test() {
    if [ -n "${running:-}" ]; then
        runc --root containers/state delete --force "$running" >/dev/null 2>&1 || true
    fi
}

# container NAME PYTHON ARGUMENTS...: of container.py. Both workers serve; leaves their numbers in $pids.
container() {
    local name=$1 python=$2
    shift 2
    rm -rf containers
    /usr/bin/python3 "$ROOT/tests/bats/lib/container.py" "${options[@]}" containers images.json "$@" >server.log 2>&1 3>&- &
    server=$!
    running=$name
    wait_until 120 grep -q Listening server.log || fail "$(cat server.log)"
    pids=$(within "$python" /app/client.py 8000 2) || fail "$pids: $(cat server.log)"
}

# within COMMAND...: in the container that runs, with its user and filter, as `docker exec` does it.
within() {
    runc --root containers/state exec --env LD_PRELOAD= "$running" "$@"
}

# served DIRECTORY: the profile there is whole; it is read from a copy, as from any other machine.
served() {
    stop_server "$server" TERM
    ! grep pyprof: server.log || fail "it says something"
    rm -rf copied
    cp -r "$1" copied
    OUT=copied served_well "$pids"
    reader accounting info.json
}

# doctor_says PATTERN: of this surrounding; the server and its workers are well, though it has no perf events.
doctor_says() {
    within /opt/pyprof/pyprof doctor 1 >doctor.txt || fail "$(cat doctor.txt)"
    [ "$(grep -c '^ok   child' doctor.txt)" -eq 2 ] || fail "$(cat doctor.txt)"
    ! grep '^warn' doctor.txt | grep -vE '^warn (clock|profile  it says: samples cost)' || fail "$(cat doctor.txt)"
    within /opt/pyprof/pyprof doctor >here.txt || fail "$(cat here.txt)"
    unwrapped <here.txt | grep -qE "$1" || fail "$(cat here.txt)"
}

# Docker's is that of Debian 12, 20.10: newer ones permit process_vm_readv.
# bats test_tags=core
@test "gunicorn under Docker's and Podman's own seccomp profiles: profiled whole, and doctor says which way" {
    options=(--seccomp "$CONTAINER_PROFILES/docker.json")
    container image "$PYTHON" image image
    doctor_says 'ok machine process_vm_readv is not permitted here .*: memory is read by /proc/self/mem.* warn clock perf_event_open is not permitted'
    served containers/image/root/profiles
    options=(--seccomp "$CONTAINER_PROFILES/podman.json")
    container image "$PYTHON" image image
    doctor_says 'warn clock perf_event_open is not permitted'
    ! grep -q /proc/self/mem here.txt || fail "$(cat here.txt)"
    served containers/image/root/profiles
}

# A user that no image has, as some clusters choose them.
restricted_pod() {
    container app "$PYTHON" pod "$ROOT/contrib/kubernetes/pod.yaml"
    [ "$(within stat -c %u /proc/1)" -eq 1000660000 ] || fail "$(within ps)"
    ! within touch /app/file 2>err.txt || fail "the root can be written"
    within grep -qE '^CapBnd:\s*0+$' /proc/1/status || fail "$(within cat /proc/1/status)"
    within grep -qE '^NoNewPrivs:\s*1$' /proc/1/status || fail "$(within cat /proc/1/status)"
    doctor_says 'ok output /profiles can be written by user 1000660000'
    served containers/volumes/profiles
}

# bats test_tags=core
@test "contrib/kubernetes/pod.yaml unchanged, restricted, of any user: profiled whole, nothing on stderr" {
    "$PYTHON" - "$ROOT/contrib/kubernetes/pod.yaml" <<'END'
import sys, yaml

spec = yaml.safe_load(open(sys.argv[1]))["spec"]
# The Pod Security Standard's rules for "restricted".
assert spec["securityContext"]["runAsNonRoot"] is True and spec["securityContext"]["runAsUser"] != 0
assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
for container in spec["initContainers"] + spec["containers"]:
    context = container["securityContext"]
    assert context["allowPrivilegeEscalation"] is False and context["capabilities"] == {"drop": ["ALL"]}, container
    assert "privileged" not in context and "add" not in context["capabilities"], container
assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
END
    options=(--user 1000660000 --seccomp "$CONTAINER_PROFILES/docker.json")
    restricted_pod
}

# bats test_tags=core
@test "the same pod under AppArmor's docker-default" {
    [ "$(cat /sys/module/apparmor/parameters/enabled 2>/dev/null)" = Y ] || skip "no AppArmor in this kernel"
    apparmor_parser --replace --skip-cache "$CONTAINER_PROFILES/docker-default"
    options=(--user 1000660000 --seccomp "$CONTAINER_PROFILES/docker.json" --apparmor docker-default)
    restricted_pod
}

# There is no Docker here: what a stage does to the image is done to a root made like its base image.
@test "contrib/docker/Dockerfile: slim, Alpine and distroless make profiles; its packages are those of the build" {
    local dockerfile=$ROOT/contrib/docker/Dockerfile stage python
    grep -qF "    $(sed -n 's/^# *docker/docker/p' "$dockerfile")" "$ROOT/README.md"
    # shellcheck disable=SC2016
    sed -n '/^if \[ "$want" != build/q; s/^need \([^ ]*\) .*/\1/p' "$ROOT/tests/deps.sh" | sort >needed.txt
    # shellcheck disable=SC1003
    sed -n '/AS pyprof$/,/[^\\]$/{/^FROM/d; p}; /AS pyprof$/,/^COPY/p' "$dockerfile" | tr -s ' \\' '\n' | grep -E '^(make|gcc|[a-z0-9]*-dev)$' | sort -u >installed.txt
    diff needed.txt installed.txt
    MUSL_ROOT=$("$ROOT/tests/roots.sh" musl) || fail "$MUSL_ROOT"
    export MUSL_ROOT
    write_images
    mkdir -p out/profiles
    options=(--seccomp "$CONTAINER_PROFILES/docker.json")
    for stage in slim alpine distroless; do
        python=/usr/bin/python3.11
        [ "$stage" != alpine ] || python=$MUSL_ROOT/bin/python3.11
        container "$stage" "$python" stage "$dockerfile" "$stage"
        served "containers/$stage/root/var/lib/pyprof"
    done
}
