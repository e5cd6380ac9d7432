#!/usr/bin/python3
"""Runs by runc, as the containers that a cluster or Docker would make of it, what contrib/kubernetes and contrib/docker have.

    container.py [OPTION...] DIRECTORY IMAGES.json pod POD.yaml
    container.py [OPTION...] DIRECTORY IMAGES.json image NAME
    container.py [OPTION...] DIRECTORY IMAGES.json stage DOCKERFILE STAGE

DIRECTORY gets their roots (DIRECTORY/NAME/root), volumes (DIRECTORY/volumes/NAME) and state (runc --root DIRECTORY/state exec
NAME COMMAND...). A pod's init containers are run one after the other, then this process becomes its only container. Of a stage
what is copied from the stage "pyprof" is copied from the image of that name, the last RUN is run if it needs no network, and its
environment, user and command are kept. IMAGES.json says what of this machine is in each image, read-only, and how it starts:
    {NAME: {"mounts": {PATH: DIRECTORY}, "links": {PATH: TARGET}, "files": {PATH: TEXT}, "copies": {PATH: FILE},
            "environment": {}, "command": []}}
Each container has a network of its own, with a loopback device.
"""

import argparse
import json
import os
import re
import shutil
import subprocess

import yaml

DOCKERS_CAPABILITIES = ["CAP_" + name for name in """AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE
    NET_RAW SETFCAP SETGID SETPCAP SETUID SYS_CHROOT""".split()]
# As Docker and containerd have them.
MASKED = ["/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/sched_debug", "/sys/firmware"]
READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
USUAL = [
    {"destination": "/proc", "type": "proc", "source": "proc"},
    {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "strictatime", "mode=755", "size=65536k"]},
    {"destination": "/dev/pts", "type": "devpts", "source": "devpts", "options": ["nosuid", "noexec", "newinstance", "ptmxmode=0666"]},
    {"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": ["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"]},
    {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["nosuid", "noexec", "nodev", "ro"]},
]


def seccomp(path, capabilities):
    """The profile for this machine and these capabilities, as runc takes it."""
    with open(path) as file:
        profile = json.load(file)
    calls = []
    for rule in profile["syscalls"]:
        only, never = rule.get("includes") or {}, rule.get("excludes") or {}
        if "amd64" not in only.get("arches", ["amd64"]) or "amd64" in never.get("arches", []):
            continue
        if set(only.get("caps", [])) - set(capabilities) or set(never.get("caps", [])) & set(capabilities):
            continue
        calls.append({key: rule[key] for key in ("names", "action", "errnoRet", "args") if rule.get(key) is not None})
    made = {"defaultAction": profile["defaultAction"], "syscalls": calls,
            "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"]}
    if "defaultErrnoRet" in profile:
        made["defaultErrnoRet"] = profile["defaultErrnoRet"]
    return made


class Containers:
    def __init__(self, arguments):
        with open(arguments.images) as file:
            self.images = json.load(file)
        self.directory = arguments.directory
        self.arguments = arguments

    def root(self, name):
        """Where the container's files are; what it shares with this machine is not there yet."""
        root = os.path.join(self.directory, name, "root")
        image = self.images[name]
        if not os.path.exists(root):
            os.makedirs(os.path.join(root, "tmp"))
            os.chmod(os.path.join(root, "tmp"), 0o1777)
            for path, target in image.get("links", {}).items():
                os.symlink(target, self.path(name, path))
            for path, text in image.get("files", {}).items():
                with open(self.path(name, path), "w") as file:
                    file.write(text)
                os.chmod(file.name, 0o755)
            for path, source in image.get("copies", {}).items():
                shutil.copy(source, self.path(name, path))
        return root

    def path(self, name, path):
        path = os.path.join(self.directory, name, "root", path.lstrip("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def runc(self, name, command=None, environment=None, mounts=(), user=None, capabilities=DOCKERS_CAPABILITIES,
             read_only=False, no_new_privileges=False):
        """The command that runs it."""
        image = self.images[name]
        self.root(name)
        variables = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/", **image.get("environment", {}), **(environment or {})}
        bound = [*((path, source, "ro") for path, source in image["mounts"].items()), *mounts]
        if self.arguments.user is not None:
            user = self.arguments.user
        config = {
            "ociVersion": "1.0.2",
            "hostname": name,
            "root": {"path": "root", "readonly": read_only},
            "process": {
                "cwd": image.get("directory", "/app"),
                "args": command or image["command"],
                "env": [f"{key}={value}" for key, value in variables.items()],
                "user": {"uid": user or 0, "gid": user or 0},
                "capabilities": {which: capabilities for which in ("bounding", *(() if user else ("effective", "permitted")))},
                "noNewPrivileges": no_new_privileges,
            },
            "mounts": [*USUAL, *({"destination": path, "type": "bind", "source": source, "options": ["rbind", how]}
                                 for path, source, how in bound)],
            "linux": {
                "namespaces": [{"type": kind} for kind in ("pid", "network", "ipc", "uts", "mount")],
                "maskedPaths": MASKED,
                "readonlyPaths": READ_ONLY,
            },
        }
        if self.arguments.seccomp:
            config["linux"]["seccomp"] = seccomp(self.arguments.seccomp, capabilities)
        if self.arguments.apparmor:
            config["process"]["apparmorProfile"] = self.arguments.apparmor
        with open(os.path.join(self.directory, name, "config.json"), "w") as file:
            json.dump(config, file)
        return ["runc", "--root", os.path.join(self.directory, "state"), "run", "--bundle", os.path.join(self.directory, name), name]

    def pod(self, path):
        with open(path) as file:
            spec = yaml.safe_load(file)["spec"]
        for volume in spec["volumes"]:
            assert list(volume) == ["name", "emptyDir"], volume
            os.makedirs(os.path.join(self.directory, "volumes", volume["name"]))
            os.chmod(os.path.join(self.directory, "volumes", volume["name"]), 0o777)
        assert len(spec["containers"]) == 1
        for container in [*spec["initContainers"], *spec["containers"]]:
            context = {**spec["securityContext"], **container["securityContext"]}
            assert container["image"] == container["name"]
            command = self.runc(
                container["name"], command=container["command"],
                environment={entry["name"]: entry["value"] for entry in container.get("env", [])},
                mounts=[(mount["mountPath"], os.path.join(self.directory, "volumes", mount["name"]),
                         "ro" if mount.get("readOnly") else "rw") for mount in container["volumeMounts"]],
                user=context["runAsUser"],
                capabilities=[] if context.get("capabilities", {}).get("drop") == ["ALL"] else DOCKERS_CAPABILITIES,
                read_only=context.get("readOnlyRootFilesystem", False),
                no_new_privileges=not context.get("allowPrivilegeEscalation", True))
            if container in spec["containers"]:
                os.execvp(command[0], command)
            subprocess.run(command, check=True)

    def stage(self, path, name):
        with open(path) as file:
            lines = re.sub(r"\\\n", " ", re.sub(r"^ *#.*\n", "", file.read(), flags=re.M)).splitlines()
        first = next(i for i, line in enumerate(lines) if re.match(rf"FROM .* AS {name}$", line)) + 1
        words = [line.split(" ", 1) for line in lines[first:] if line]
        words = words[:next((i for i, (word, _) in enumerate(words) if word == "FROM"), None)]
        image, out, user = self.images[name], self.images["pyprof"]["out"], 0
        root = self.root(name)
        command, entry = [], []
        for word, rest in words:
            if word == "ENV":
                image.setdefault("environment", {}).update(part.split("=", 1) for part in rest.split())
            elif word == "COPY" and "--from=pyprof" in rest:
                *_, source, to = rest.split()
                if os.path.isdir(out + source[len("/out"):]):
                    os.makedirs(self.path(name, to), exist_ok=True)
                else:
                    shutil.copy(out + source[len("/out"):], self.path(name, to))
                if "--chown=" in rest:
                    owner = re.search(r"--chown=(\d+):(\d+)", rest)
                    os.chown(self.path(name, to), int(owner[1]), int(owner[2]))
            elif word == "RUN" and not re.search("pip install|apt-get", rest):
                subprocess.run(self.runc(name, command=["sh", "-c", rest]), check=True)
            elif word == "WORKDIR":
                image["directory"] = rest
            elif word == "USER":
                with open(self.path(name, "/etc/passwd")) as file:
                    users = {line.split(":")[0]: int(line.split(":")[2]) for line in file}
                user = int(users.get(rest, rest))
            elif word == "ENTRYPOINT":
                entry = json.loads(rest)
            elif word == "CMD":
                command = json.loads(rest)
        command = self.runc(name, command=entry + command, user=user)
        os.execvp(command[0], command)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--user", type=int, help="in place of the image's")
    parser.add_argument("--seccomp", help="a profile as Docker and Podman write it")
    parser.add_argument("--apparmor", help="the name of a profile that is loaded")
    parser.add_argument("directory", type=os.path.abspath)
    parser.add_argument("images")
    parser.add_argument("kind", choices=["pod", "image", "stage"])
    parser.add_argument("what", nargs="+")
    arguments = parser.parse_args()
    containers = Containers(arguments)
    if arguments.kind == "pod":
        containers.pod(*arguments.what)
    elif arguments.kind == "stage":
        containers.stage(*arguments.what)
    else:
        command = containers.runc(*arguments.what)
        os.execvp(command[0], command)


main()
