#!/bin/bash
# Installs the Debian packages of tools/packages.txt that are missing, and nothing else. Quiet when
# there is nothing to do; otherwise one line of progress. What is wrong is told in one line. Other
# systems, and what they have in place of some packages, are in tools/packages-systems.txt.
#   tools/setup.sh --test   also those of tools/packages-test.txt: servers and a browser for tests
#   tools/setup.sh --long   also those of tools/packages-long.txt: clang for the fuzzers and tidy

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

fail() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

command -v dpkg-query >/dev/null ||
  fail "this is not a Debian system (no dpkg); Proffer is built and tested on Debian 12"

# Tests give another file.
os_release=${OS_RELEASE:-/etc/os-release}
# shellcheck disable=SC1090
system=$(. "$os_release" 2>/dev/null && printf '%s-%s' "${ID:-unknown}" "${VERSION_ID:-}") ||
  system=unknown
# What this system has in place of packages: another name, or - for nothing.
declare -A instead=()
is_known=
while read -r on package other; do
  [ "$on" = "$system" ] || continue
  is_known=yes
  [ -z "$package" ] || instead[$package]=$other
done <"$here/packages-systems.txt"

lists=("$here/packages.txt")
case ${1:-} in --test | --long) lists+=("$here/packages-test.txt") ;; esac
[ "${1:-}" != --long ] || lists+=("$here/packages-long.txt")
missing=()
while read -r package; do
  case $package in '' | '#'*) continue ;; esac
  package=${instead[$package]:-$package}
  [ "$package" != - ] || continue
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done < <(cat "${lists[@]}")
[ ${#missing[@]} -gt 0 ] || exit 0

[ -n "$is_known" ] ||
  fail "packages can be installed on Debian 12 and 13 and Ubuntu 24.04 only, this is" \
    "${system%-}; missing: ${missing[*]}"
command -v apt-get >/dev/null || fail "apt-get is not here; missing packages: ${missing[*]}"

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null ||
    fail "needs root once (no sudo here), run as root: apt-get install ${missing[*]}"
  as_root=(sudo)
fi

log=$(mktemp "${TMPDIR:-/tmp}/proffer-setup-XXXXXX")
trap 'rm -f "$log"' EXIT
printf 'setup: installing %d Debian packages, about a minute …\n' "${#missing[@]}"

# The last error of apt, on one line.
last_error() { grep -E '^(E|Err|dpkg: error)' "$log" | tail -n 1 || true; }
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 \
    apt-get -qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" >>"$log" 2>&1 </dev/null
}
apt -o APT::Update::Error-Mode=any update ||
  fail "cannot reach Debian's package servers; is there a network? ($(last_error))"
apt install -y --no-install-recommends "${missing[@]}" ||
  fail "apt-get install failed: $(last_error)"
