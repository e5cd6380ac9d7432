# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel and the source distribution, for pip (as pyproject.toml says) and for make:

    backend.py wheel PROGRAMS DIRECTORY LIBRARY.a...   of these programs, with these libraries inside
    backend.py sdist DIRECTORY
"""

import base64
import gzip
import hashlib
import io
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

import third_party

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
VERSION = re.search(r"^VERSION := (.*)$", (ROOT / "Makefile").read_text(), re.M).group(1)
NAME = "libpyprof-" + VERSION
INFO = NAME + ".dist-info"
# Any glibc from 2.17 on; the older name is for pip before 20.3. Of musl any from 1.2 on.
ANY_LIBC = "manylinux2014_{0}.manylinux_2_17_{0}.musllinux_1_2_{0}"
# By ELF's number of the processor: its name, and Debian's.
PROCESSORS = {62: ("x86_64", "amd64"), 183: ("aarch64", "arm64")}
ZIP_EPOCH = 315532800  # 1980, the first year that a zip file can have
EPOCH = max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), ZIP_EPOCH)

METADATA = """Metadata-Version: 2.4
Name: libpyprof
Version: {version}
Summary: CPU profiler for Python programs: Python and native functions, all threads and worker processes
Author: The libpyprof authors
License-Expression: {licence}
{licence_files}Keywords: profiler,profiling,cpu,performance,flamegraph
Classifier: Environment :: Console
Classifier: Intended Audience :: Developers
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Programming Language :: Python :: 3
Classifier: Programming Language :: Python :: Implementation :: CPython
Classifier: Framework :: Pytest
Classifier: Topic :: Software Development :: Debuggers
Classifier: Typing :: Typed
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{description}"""

# Header, and Debian's name of its package.
HEADERS = {
    "stdio.h": "libc6-dev",
    "libelf.h": "libelf-dev",
    "elfutils/libdwfl.h": "libdw-dev",
    "libiberty/demangle.h": "libiberty-dev",
    "zlib.h": "zlib1g-dev",
}


def metadata(licence, licence_files):
    return METADATA.format(
        version=VERSION,
        licence=licence,
        licence_files="".join("License-File: %s\n" % name for name in licence_files),
        description=(HERE / "README.md").read_text(),
    )


def processor_of(program):
    return PROCESSORS[int.from_bytes(program[18:20], "little")]


def write_wheel(programs, directory, libraries):
    """Writes the wheel of the programs; returns its name. If they are linked with these static libraries, they run in any
    libc."""
    processor, debians_name = processor_of((programs / "pyprof").read_bytes())
    tag = (ANY_LIBC if libraries else "linux_{0}").format(processor)
    files = {}
    for path in sorted((HERE / "libpyprof").iterdir()):
        if path.suffix == ".py" or path.name == "py.typed":
            files["libpyprof/" + path.name] = path.read_bytes()
    data = NAME + ".data/"
    files[data + "scripts/pyprof"] = (programs / "pyprof").read_bytes()
    # `pip install --target` leaves out what is in lib.
    files[data + "data/libexec/pyprof/libpyprof.so"] = (programs / "libpyprof.so").read_bytes()
    files[data + "data/include/pyprof.h"] = (ROOT / "preload/pyprof.h").read_bytes()
    for path in sorted((programs / "share").rglob("*")):
        if path.is_file():
            files[data + "data/share/" + path.relative_to(programs / "share").as_posix()] = path.read_bytes()
    licences = {"LICENSE": (ROOT / "LICENSE").read_bytes()}
    licences.update(third_party.licences(libraries))
    for name, text in licences.items():
        files["%s/licenses/%s" % (INFO, name)] = text
    files[INFO + "/sboms/libpyprof.cdx.json"] = third_party.bill_of_materials(VERSION, libraries, debians_name)
    files[INFO + "/METADATA"] = metadata(third_party.expression(libraries), sorted(licences)).encode()
    files[INFO + "/WHEEL"] = "".join(
        ["Wheel-Version: 1.0\nGenerator: libpyprof\nRoot-Is-Purelib: false\n"]
        + ["Tag: py3-none-%s\n" % one for one in tag.split(".")]
    ).encode()
    files[INFO + "/entry_points.txt"] = b"[pytest11]\npyprof = libpyprof.pytest_plugin\n"
    record = ["%s,sha256=%s,%d" % (name, digest(files[name]), len(files[name])) for name in sorted(files)]
    files[INFO + "/RECORD"] = "\n".join(record + [INFO + "/RECORD,,", ""]).encode()
    name = "%s-py3-none-%s.whl" % (NAME, tag)
    directory.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(str(directory / name), "w", zipfile.ZIP_DEFLATED) as wheel:
        # The programs first, what describes them last.
        for path in sorted(files, key=lambda path: (path.startswith(INFO), path == INFO + "/RECORD", path)):
            entry = zipfile.ZipInfo(path, time.gmtime(EPOCH)[:6])
            entry.create_system = 3  # Unix: the mode counts
            entry.external_attr = (0o100755 if "/scripts/" in path else 0o100644) << 16
            wheel.writestr(entry, files[path], zipfile.ZIP_DEFLATED)
    return name


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


def write_sdist(directory):
    """Writes the source distribution: what git knows, or all of an unpacked one."""
    if (ROOT / ".git").exists():
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=str(ROOT), check=True, stdout=subprocess.PIPE).stdout
        names = sorted(os.fsdecode(name) for name in listed.split(b"\0") if name and not name.startswith(b"."))
    else:
        every = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file()]
        names = sorted(name for name in every if not name.startswith("build/") and not name.endswith(".pyc"))
    project = (HERE / "pyproject.toml").read_text().replace('["."]', '["contrib/python"]')
    files = {name: (ROOT / name).read_bytes() for name in names if (ROOT / name).is_file()}
    files["pyproject.toml"] = project.encode()
    files["PKG-INFO"] = metadata("Apache-2.0", ["LICENSE"]).encode()
    directory.mkdir(parents=True, exist_ok=True)
    text = io.BytesIO()
    with tarfile.open(fileobj=text, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(files):
            entry = tarfile.TarInfo("%s/%s" % (NAME, name))
            entry.size = len(files[name])
            entry.mtime = EPOCH
            entry.mode = 0o755 if os.access(str(ROOT / name), os.X_OK) else 0o644
            archive.addfile(entry, io.BytesIO(files[name]))
    name = NAME + ".tar.gz"
    with open(str(directory / name), "wb") as out, gzip.GzipFile("", "wb", 9, out, EPOCH) as packed:
        packed.write(text.getvalue())
    return name


def check_platform():
    libc = platform.libc_ver()[0]
    supported = [name for name, _ in PROCESSORS.values()]
    here = "%s on %s%s" % (sys.platform, platform.machine(), ", no glibc" if libc != "glibc" else "")
    if not sys.platform.startswith("linux") or platform.machine() not in supported or libc != "glibc" or sys.maxsize < 2**32:
        raise SystemExit("libpyprof: supported is Linux on x86-64 and AArch64 with glibc, not %s" % here)


def check_tools():
    """Ends with one line when a program or a header is missing."""
    compiler = os.environ.get("CC", "cc").split()
    missing = [name for name in ("make", compiler[0]) if not shutil.which(name)]
    for header, package in HEADERS.items() if not missing else ():
        found = subprocess.run(
            compiler + os.environ.get("CPPFLAGS", "").split() + ["-E", "-x", "c", "-"],
            input=b"#include <%s>\n" % header.encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        if found.returncode:
            missing.append(package)
    if missing:
        raise SystemExit(
            "libpyprof: to build it from source, this system lacks %s (so Debian calls them)" % ", ".join(missing)
        )


# What pip calls.


def get_requires_for_build_wheel(config_settings=None):
    check_platform()
    check_tools()
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    get_requires_for_build_wheel()
    with tempfile.TemporaryDirectory() as build:
        # Warnings of compilers that are newer than this release must not keep users from building it.
        command = ["make", "-j%d" % (os.cpu_count() or 1), "WERROR=", "BUILD=" + build, "wheel-programs"]
        made = subprocess.run(command, cwd=str(ROOT), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if made.returncode:
            sys.stderr.write(made.stdout.decode(errors="replace"))
            raise SystemExit("libpyprof: make failed: see above")
        return write_wheel(pathlib.Path(build) / "wheel/linux", pathlib.Path(wheel_directory), [])


def build_sdist(sdist_directory, config_settings=None):
    return write_sdist(pathlib.Path(sdist_directory))


def main(what, *arguments):
    if what == "wheel":
        programs, directory, *libraries = map(pathlib.Path, arguments)
        print(directory / write_wheel(programs, directory, libraries))
    else:
        (directory,) = map(pathlib.Path, arguments)
        print(directory / write_sdist(directory))


if __name__ == "__main__":
    main(*sys.argv[1:])
