#!/usr/bin/env python3
"""Writes the bill of materials of the installed programs: SPDX 2.3 as JSON, on standard output.

sbom.py BUILD [PACKAGE.deb…]

It names our packages, with their commit and sums, and the Debian packages whose code the programs in BUILD/bin
have or load: shared libraries, archives on their command of the linker, and what they are compiled
with if that is more than declarations. A package is named once with its version, its licence as
far as Debian's copyright file says it in words of SPDX, and an address (purl) for scanners. The
time is that of $SOURCE_DATE_EPOCH: equal programs on an equal system make equal bytes.
"""

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
import uuid

# Names of licences in Debian's copyright files, and those of SPDX.
LICENCES = {
    "agpl-3": "AGPL-3.0-only",
    "agpl-3+": "AGPL-3.0-or-later",
    "apache-2": "Apache-2.0",
    "apache-2.0": "Apache-2.0",
    "boost-1.0": "BSL-1.0",
    "bsl-1.0": "BSL-1.0",
    "bsd-2-clause": "BSD-2-Clause",
    "bsd-3-clause": "BSD-3-Clause",
    "bsd-4-clause": "BSD-4-Clause",
    "curl": "curl",
    "expat": "MIT",
    "mit": "MIT",
    "gpl-2": "GPL-2.0-only",
    "gpl-2+": "GPL-2.0-or-later",
    "gpl-3": "GPL-3.0-only",
    "gpl-3+": "GPL-3.0-or-later",
    "isc": "ISC",
    "lgpl-2": "LGPL-2.0-only",
    "lgpl-2+": "LGPL-2.0-or-later",
    "lgpl-2.1": "LGPL-2.1-only",
    "lgpl-2.1+": "LGPL-2.1-or-later",
    "lgpl-3": "LGPL-3.0-only",
    "lgpl-3+": "LGPL-3.0-or-later",
    "mpl-2.0": "MPL-2.0",
    "zlib": "Zlib",
}
# The interface of the kernel: declarations only.
DECLARATIONS = {"linux-libc-dev"}


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True,
                          env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout


def shared_libraries(program):
    """The names of the shared libraries that a program loads itself."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "--dynamic", program))


def places_of_shared():
    """Where the loader finds each shared library."""
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    lines = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True,
                           env={"PATH": path}).stdout
    found = {}
    for name, place in re.findall(r"^\s*(\S+) \(.*\) => (\S+)$", lines, re.MULTILINE):
        found.setdefault(name, place)
    return found


def archives(build, program):
    """The system's archives on the command that links a program."""
    words = shlex.split(output_of("ninja", "-C", build, "-t", "commands", "-s",
                                  f"bin/{program}").splitlines()[-1])
    named = [word for word in words if word.startswith("/usr/") and word.endswith(".a")]
    compiler = next(word for word in words if re.search(r"(\+\+|cc|clang)(-\d+)?$", word))
    # What the compiler adds without a word.
    names = ["libgcc.a"]
    if "-static-libstdc++" in words or "-static" in words:
        names.append("libstdc++.a")
    if "-static" in words:
        names += ["libc.a", "libgcc_eh.a"]
        names += ["lib" + word[2:] + ".a" for word in words if word.startswith("-l")]
    for name in names:
        place = os.path.realpath(output_of(compiler, "-print-file-name=" + name).strip())
        if os.path.isabs(place) and os.path.exists(place):
            named.append(place)
    return named


def headers(build, programs):
    """The system's headers with which the objects of the programs are compiled."""
    inputs = output_of("ninja", "-C", build, "-t", "inputs", *[f"bin/{one}" for one in programs])
    objects = [one for one in inputs.split("\n") if one.endswith(".o")]
    dependencies = output_of("ninja", "-C", build, "-t", "deps", *objects)
    return sorted(set(re.findall(r"^    (/usr/include/.*)$", dependencies, re.MULTILINE)))


def packages_of(files):
    """Maps each file that a Debian package has to the name of the package."""
    # A folder of / may be a link to that of /usr: a package names either.
    asked = {}
    for file in files:
        real = os.path.realpath(file)
        for place in (file, real):
            asked[place] = file
            asked[place[4:] if place.startswith("/usr/lib") else "/usr" + place] = file
    found = {}
    lines = subprocess.run(["dpkg-query", "--search", *sorted(asked)], capture_output=True,
                           text=True, check=False, env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout
    for line in lines.splitlines():
        if line.startswith("diversion by "):
            continue
        owners, _, place = line.partition(": ")
        if place in asked:
            found.setdefault(asked[place], owners.split(", ")[0])
    return found


def stanzas(text):
    """The stanzas of a file of Debian's form, as tables of names and values."""
    for part in re.split(r"\n\s*\n", text):
        fields = {}
        name = None
        for line in part.splitlines():
            if line[:1] in (" ", "\t"):
                if name:
                    fields[name] += "\n" + line
            elif ":" in line:
                name, _, value = line.partition(":")
                name = name.lower()
                fields[name] = value.strip()
        yield fields


def licence_of(package):
    """The licence of most of a package's files as an expression of SPDX, and a comment."""
    try:
        with open(f"/usr/share/doc/{package}/copyright", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return "NOASSERTION", "The system has no copyright file of this package."
    if not re.match(r"\s*Format(-Specification)?:", text):
        return "NOASSERTION", "Debian's copyright file of this package is text for people only."
    main, others = None, set()
    for fields in stanzas(text):
        if "files" not in fields or not fields.get("license"):
            continue
        licence = fields["license"].split("\n")[0].strip()
        if "*" in fields["files"].split() and main is None:
            main = licence
        else:
            others.add(licence)
    comment = "By Debian's copyright file"
    others -= {main}
    if main is None:
        return "NOASSERTION", f"{comment}: {', '.join(sorted(others)) or 'not said'}."
    words = []
    for word in re.split(r"\s+(and|or)\s+", main):
        known = word.upper() if word in ("and", "or") else LICENCES.get(word.lower())
        words.append(known)
    expression = " ".join(words) if all(words) else "NOASSERTION"
    if len(words) > 3:
        expression = "NOASSERTION"  # Its order would need parentheses.
    comment += f": {main}"
    if others:
        comment += f"; of some files: {', '.join(sorted(others))}"
    return expression, comment + "."


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name.replace("+", "plus"))


def package(name, version, licence, **more):
    return {
        "SPDXID": identifier(name),
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        **more,
    }


def relationship(one, kind, other, comment=None):
    found = {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
    if comment:
        found["comment"] = comment
    return found


def facts_of(names):
    """Version, architecture, source and its version of each Debian package."""
    form = ("${binary:Package}\t${Package}\t${Version}\t${Architecture}\t${source:Package}\t"
            "${source:Version}\n")
    facts = {}
    for line in output_of("dpkg-query", "--show", "--showformat", form, *names).splitlines():
        full, name, version, architecture, source, source_version = line.split("\t")
        facts[full] = facts[name] = (name, version, architecture, source, source_version)
    return facts


def system_name():
    with open("/etc/os-release", encoding="utf-8") as file:
        fields = dict(line.strip().split("=", 1) for line in file if "=" in line)
    return fields.get("ID", "").strip('"'), fields.get("VERSION_ID", "").strip('"')


def libraries(build, programs):
    """(kind of link, file, package or None) of all that the programs have or load."""
    places = places_of_shared()
    dynamic, static = set(), set()
    for program in programs:
        for name in shared_libraries(f"{build}/bin/{program}"):
            dynamic.add(places.get(name, name))
        static.update(archives(build, program))
    included = set(headers(build, programs))
    owners = packages_of(dynamic | static | included)
    for kind, files in (("DYNAMIC_LINK", dynamic), ("STATIC_LINK", static), ("CONTAINS", included)):
        for file in sorted(files):
            if kind != "CONTAINS" or file in owners:
                yield kind, file, owners.get(file)


def main(build, *ours):
    with open(f"{build}/packaging-scripts/programs", encoding="utf-8") as file:
        programs = file.read().split()
    with open(f"{build}/CMakeCache.txt", encoding="utf-8") as file:
        cache = dict(re.findall(r"^(\w+):\w+=(.*)$", file.read(), re.MULTILINE))
    version, commit = cache["CMAKE_PROJECT_VERSION"], cache.get("PROFFER_COMMIT")
    system, system_version = system_name()

    packages, relationships = {}, []
    described = {os.path.basename(one).split("_")[0]: one for one in ours} or {"proffer": None}
    for name, file in sorted(described.items()):
        more = {"primaryPackagePurpose": "APPLICATION", "supplier": "Organization: Proffer",
                "sourceInfo": f"built from commit {commit or 'of a working tree'}"}
        if file:
            with open(file, "rb") as stream:
                value = hashlib.sha256(stream.read()).hexdigest()
            more["packageFileName"] = os.path.basename(file)
            more["checksums"] = [{"algorithm": "SHA256", "checksumValue": value}]
        packages[name] = package(name, version, "Apache-2.0", **more)
        relationships.append(relationship("SPDXRef-DOCUMENT", "DESCRIBES", identifier(name)))

    found = list(libraries(build, programs))
    facts = facts_of(sorted({owner for _, _, owner in found if owner}))
    sources, linked = set(), {}
    for kind, file, owner in found:
        name, source = (facts[owner][0], facts[owner][3]) if owner else (os.path.basename(file), "")
        # A library's headers come from the source that the library has come from.
        if kind == "CONTAINS" and (source in sources or name in DECLARATIONS):
            continue
        if kind != "CONTAINS":
            sources.add(source)
        linked.setdefault((kind, name), (owner, set()))[1].add(os.path.basename(file))
    for (kind, name), (owner, files) in sorted(linked.items()):
        if name not in packages and owner:
            _, its_version, architecture, source, source_version = facts[owner]
            licence, comment = licence_of(name)
            purl = (f"pkg:deb/{system}/{name.replace('+', '%2B')}@{its_version.replace('+', '%2B')}"
                    f"?arch={architecture}&distro={system}-{system_version}")
            packages[name] = package(
                name, its_version, licence, licenseComments=comment,
                primaryPackagePurpose="LIBRARY",
                sourceInfo=f"built by the distribution from {source} {source_version}",
                externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                               "referenceLocator": purl}])
        elif name not in packages:
            packages[name] = package(name, "NOASSERTION", "NOASSERTION",
                                     primaryPackagePurpose="LIBRARY",
                                     comment="It belongs to no package of the system.")
        comment = "compiled in: templates and inline functions of its headers"
        if kind != "CONTAINS":
            comment = ", ".join(sorted(files))
        relationships.append(relationship(identifier("proffer"), kind, identifier(name), comment))

    created = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"proffer-{version}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(created)),
            "creators": ["Organization: Proffer", f"Tool: packaging/sbom.py-{version}"],
        },
        "packages": list(packages.values()),
        "relationships": relationships,
    }
    # A document has a name of its own: one of its contents.
    contents = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document, sort_keys=True))
    document["documentNamespace"] = f"https://spdx.org/spdxdocs/proffer-{version}-{contents}"
    print(json.dumps(document, indent=2, ensure_ascii=False))


main(*sys.argv[1:])
