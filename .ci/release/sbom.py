#!/usr/bin/env python3
"""Writes a list of all third-party software in a build, as CycloneDX JSON: sbom.py BUILD TREE VERSION ARCH RELEASE.

Ninja knows every header that was included and every archive that was linked; readelf knows the shared libraries in TREE.
Debian's package of each gives its version and license. RELEASE is the folder with the libraries that were built from
Debian's sources."""
import json
import pathlib
import re
import subprocess
import sys

PROGRAMS = {"attn", "attn-hdf5", "attn-image", "attn-audio"}
# Headers of the C library are no part of the result; the C library itself is, where TREE has it.
NOT_CONTAINED = re.compile(r"^(libc6-dev|linux-libc-dev|libcrypt-dev|doctest-dev|libgcc-\d+-dev|libc6-dev-.*)$")

# Debian's package of each library that is built from source.
BUILT = {"fmtlib": "libfmt-dev", "spdlog": "libspdlog-dev", "zlib": "zlib1g-dev", "libspng": "libspng-dev", "flac": "libflac-dev",
         "sentencepiece": "libsentencepiece-dev", "onednn": "libdnnl-dev"}


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def files_of(build):
    """Returns the paths of included headers and linked libraries."""
    paths = set(re.findall(r"^    (/\S+)$", run("ninja", "-C", build, "-t", "deps"), re.M))
    for command in run("ninja", "-C", build, "-t", "commands", *PROGRAMS).splitlines():
        if re.search(r" -o (attn|attn-hdf5|attn-image|attn-audio) ", command):
            paths.update(word for word in command.split() if re.search(r"\.(a|so)(\.[\d.]+)?$", word))
    return {str((pathlib.Path(build) / path).resolve()) for path in paths}


def debian_packages(paths, root):
    """Returns the version of each Debian package that has one of the paths."""
    names = set()
    paths = sorted(paths)
    for first in range(0, len(paths), 200):
        for line in run("dpkg-query", "--search", *paths[first:first + 200]).splitlines():
            names.add(line.split(":")[0])
    found = {}
    for name in sorted(names):
        if not NOT_CONTAINED.match(name):
            found[name] = (run("dpkg-query", "--show", "--showformat", "${Version}", name), root / "usr/share/doc")
    return found


def unpacked_packages(sysroot, everything):
    """Returns the packages of a sysroot whose shared libraries are copied; with `everything`, also the others."""
    listed = dict(line.split("\t") for line in (sysroot / "packages.tsv").read_text().splitlines())
    found = {}
    for name, version in listed.items():
        is_library = re.match(r"^(libc6|libgomp1|libstdc\+\+6|libgcc-s1|libdnnl.*)$", name)
        if (is_library or everything) and not NOT_CONTAINED.match(name):
            found[name] = (version, sysroot / "usr/share/doc")
    return found


def licenses(doc):
    """Returns the names of the licenses in a machine-readable copyright file, or the place of its text."""
    copyright_file = doc / "copyright"
    if not copyright_file.exists():
        return []
    names = re.findall(r"^License: *(\S.*)$", copyright_file.read_text(errors="replace"), re.M)
    if not names:
        names = ["see notices/" + doc.name]
    return [{"license": {"name": name}} for name in sorted(set(names))]


def component(name, version, doc, distribution):
    out = {"type": "library", "name": name, "version": version, "purl": f"pkg:deb/debian/{name}@{version}?distro={distribution}"}
    found = licenses(doc)
    if found:
        out["licenses"] = found
    return out


def main():
    build, tree, version, arch, release = sys.argv[1:6]
    release = pathlib.Path(release)
    sysroot = release / "sysroot"
    paths = files_of(build)
    packages = unpacked_packages(sysroot, everything=arch != "amd64")
    if arch == "amd64":
        packages.update(debian_packages(paths, pathlib.Path("/")))
    components = []
    for name, (package_version, docs) in sorted(packages.items()):
        components.append(component(name, package_version, docs / name, "debian"))
    for line in (release / "sources.tsv").read_text().splitlines() if (release / "sources.tsv").exists() else []:
        name, package_version, distribution = line.split("\t")
        components = [one for one in components if one["name"] != BUILT[name]]
        components.append(component(name, package_version, release.parent / "sources" / name / "debian", distribution))
    if any("libdnnl" in path for path in paths) and not any("dnnl" in one["name"] for one in components):
        components.append({"type": "library", "name": "oneDNN", "version": onednn_version(tree),
                           "licenses": [{"license": {"id": "Apache-2.0"}}]})
    print(json.dumps({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"component": {"type": "application", "name": "attn", "version": version,
                                   "licenses": [{"license": {"id": "Apache-2.0"}}],
                                   "properties": [{"name": "architecture", "value": arch}]}},
        "components": components}, indent=1))


def onednn_version(tree):
    text = run(f"{tree}/bin/attn", "--version")
    return re.search(r"oneDNN ([\d.]+)", text).group(1)


main()
