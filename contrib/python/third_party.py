# SPDX-License-Identifier: Apache-2.0
"""What is linked into the wheel's pyprof, and under which licences: the libraries are those of Debian packages."""

import gzip
import json
import pathlib
import re
import subprocess

# By the library's file name: the project that it is of, its licence, and Debian's package of it.
PROJECTS = {
    "libdw": ("elfutils", "LGPL-3.0-or-later OR GPL-2.0-or-later", "libdw-dev"),
    "libelf": ("elfutils", "LGPL-3.0-or-later OR GPL-2.0-or-later", "libelf-dev"),
    # of it the demangler, cp-demangle.c
    "libiberty": ("libiberty", "GPL-2.0-or-later WITH GCC-exception-2.0", "libiberty-dev"),
    "libz": ("zlib", "Zlib", "zlib1g-dev"),
    "liblzma": ("xz", "LicenseRef-Public-Domain", "liblzma-dev"),
    "libbz2": ("bzip2", "bzip2-1.0.6", "libbz2-dev"),
    "libc": ("glibc", "LGPL-2.1-or-later", "libc6-dev"),
}
COMMON = ("GPL-2", "GPL-3", "LGPL-2.1", "LGPL-3")

NOTICE = """libpyprof's own code is under the Apache License 2.0 (LICENSE). The program pyprof in this wheel contains these libraries,
in object code, unchanged, as Debian has built them; libpyprof.so contains none of them:

%s
The compiler adds parts of libgcc (GPL-3.0-or-later WITH GCC-exception-3.1, which permits it for any program). The libraries'
licences are beside this file: copyright.NAME, and the texts that these refer to. Their source code is that of the named
versions of Debian's source packages. To link pyprof with another version of a library: build libpyprof's source distribution
of this version, which links what the system has.
"""


def debian_root(library):
    """The root of the Debian that the library is of: that of this system, or one that was unpacked (tests/roots.sh)."""
    return pathlib.Path(library).resolve().parents[3]


def described(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode()


def packages(libraries):
    """One for each library: (its name, Debian's package, version, source package, that package's text of copyright)."""
    found = []
    for path in map(pathlib.Path, libraries):
        name, root = path.stem, debian_root(path)
        if root == pathlib.Path("/"):
            # of libc there is one for each processor
            package = described("dpkg-query", "-S", str(path.resolve())).split(":")[0]
            version, source = described("dpkg-query", "-W", "-f", "${Version}\t${source:Package}", package).split("\t")
        else:
            package = PROJECTS[name][2]
            # what is only unpacked is in no list of dpkg's
            with gzip.open(str(root / "usr/share/doc" / package / "changelog.Debian.gz"), "rt") as changes:
                source, version = re.match(r"(\S+) \((\S+)\)", changes.readline()).groups()
        found.append((name, package, version, source, root / "usr/share/doc" / package / "copyright"))
    return found


def licences(libraries):
    """File names and contents that must be in the wheel."""
    if not libraries:
        return {}
    lines, files = "", {}
    for name, package, version, source, copyright_of in packages(libraries):
        project, licence, _ = PROJECTS[name]
        lines += "    %-10s of %s, %s\n               Debian package %s %s, source package %s\n" % (
            name, project, licence, package, version, source)  # fmt: skip
        files["copyright." + name] = copyright_of.read_bytes()
    for name in COMMON:
        files[name] = pathlib.Path("/usr/share/common-licenses", name).read_bytes()
    files["NOTICE"] = (NOTICE % lines).encode()
    return files


def expression(libraries):
    """The licence of the whole, in SPDX's terms."""
    parts = ["Apache-2.0"]
    for name in (pathlib.Path(path).stem for path in libraries):
        licence = PROJECTS[name][1]
        licence = "(%s)" % licence if " OR " in licence else licence
        if licence not in parts:
            parts.append(licence)
    return " AND ".join(parts)


def component(kind, name, version, licence, purl, reference):
    return {
        "type": kind,
        "bom-ref": reference,
        "name": name,
        "version": version,
        "licenses": [{"expression": licence}],
        "purl": purl,
    }


def bill_of_materials(version, libraries, architecture):
    """CycloneDX, without a time: equal wheels have equal bytes."""
    whole = component("application", "libpyprof", version, "Apache-2.0", "pkg:pypi/libpyprof@" + version, "libpyprof")
    parts = [
        component(
            "library",
            name,
            debian,
            PROJECTS[name][1],
            "pkg:deb/debian/%s@%s?arch=%s" % (package, debian.replace("+", "%2B").replace(":", "%3A"), architecture),
            name,
        )
        for name, package, debian, *_ in packages(libraries)
    ]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": whole},
        "components": parts,
        "dependencies": [{"ref": "libpyprof", "dependsOn": [part["bom-ref"] for part in parts]}],
    }
    return (json.dumps(document, indent=1) + "\n").encode()
