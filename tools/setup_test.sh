#!/bin/bash
# What tools/setup.sh asks apt-get for on each system of tools/packages-systems.txt, with programs
# in place of dpkg-query, sudo and apt-get: all packages of its lists under the system's names.

set -euo pipefail
export LC_ALL=C
tools=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d "${TMPDIR:-/tmp}/proffer-setup-test-XXXXXX")
trap 'rm -rf "$folder"' EXIT

failed=0
fail() {
  echo "setup_test: $*" >&2
  failed=$((failed + 1))
}

printf '#!/bin/sh\nexit 1\n' >"$folder/dpkg-query"
printf '#!/bin/sh\nexec "$@"\n' >"$folder/sudo"
printf '#!/bin/sh\necho "$@" >>"%s/asked"\n' "$folder" >"$folder/apt-get"
chmod +x "$folder"/*

# asked ID VERSION: the packages that it installs there, one to a line, in order; else what is
# wrong.
asked() {
  rm -f "$folder/asked"
  printf 'ID=%s\nVERSION_ID="%s"\n' "$1" "$2" >"$folder/os-release"
  OS_RELEASE=$folder/os-release PATH=$folder:$PATH "$tools/setup.sh" --long >"$folder/out" 2>&1 || {
    cat "$folder/out"
    return 0
  }
  sed -n 's/.*--no-install-recommends //p' "$folder/asked" | tr ' ' '\n' | sort
}

all=$(cat "$tools"/packages.txt "$tools"/packages-test.txt "$tools"/packages-long.txt |
  grep -v '^#' | sort)
table=$(grep -v '^#' "$tools/packages-systems.txt")
[ "$(asked debian 12)" = "$all" ] || fail "on Debian 12 it does not install the lists as they are"
while read -r system; do
  expected=$(while read -r package; do
    other=$(awk -v on="$system" -v of="$package" '$1 == on && $2 == of { print $3 }' <<<"$table")
    [ "$other" = - ] || echo "${other:-$package}"
  done <<<"$all" | sort)
  [ "$(asked "${system%-*}" "${system##*-}")" = "$expected" ] ||
    fail "on $system it does not install what the table says"
done < <(awk 'NF == 1 { print $1 }' <<<"$table")
# A package that is in no list any more has no row.
while read -r system package other; do
  [ -z "$package" ] || grep -qxF "$package" <<<"$all" || fail "$system: $package is in no list"
done <<<"$table"
case $(asked fedora 41) in
  *"Debian 12 and 13 and Ubuntu 24.04 only, this is fedora-41; missing: "*) ;;
  *) fail "on another system it does not say where packages can be installed" ;;
esac
[ "$failed" = 0 ]
