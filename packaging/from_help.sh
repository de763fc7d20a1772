#!/bin/bash
# from_help.sh BIN OUT VERSION: makes, of what the programs in BIN say with --help, the man pages
# OUT/man/man[18]/*.gz and the files of defaults OUT/{master,agent}.flags.

set -euo pipefail
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$1 out=$2 version=$3
rm -rf "$out/man"
mkdir -p "$out/man/man1" "$out/man/man8"

# page SECTION NAME SUMMARY: a man page of standard input.
page() {
  awk -v section="$1" -v name="$2" -v summary="$3" -v version="$version" -f "$here/man_page.awk" |
    gzip -9n >"$out/man/man$1/$2.$1.gz"
}

for daemon in master agent; do
  "$bin/proffer-$daemon" --help |
    awk -v daemon="proffer-$daemon" -f "$here/flags_file.awk" >"$out/$daemon.flags"
done
"$bin/proffer-master" --help | page 8 proffer-master "shares a cluster between frameworks"
"$bin/proffer-agent" --help | page 8 proffer-agent "runs a cluster's tasks on this machine"

"$bin/proffer" --help | page 1 proffer "runs work on a cluster that many schedulers share"
# A line of the list of commands or verbs: two blanks, the name, what it does.
list() { awk '/^  [a-z]/ { name = $1; $1 = ""; sub(/^ */, ""); print name, $0 }'; }
"$bin/proffer" --help | list | while read -r command summary; do
  case $command in
    master | agent) continue ;;
    role) verbs="list tree set unset" ;;
    batch) verbs="run" ;;
    service) verbs=$("$bin/proffer" service --help | list | cut -d ' ' -f 1) ;;
    *) verbs="" ;;
  esac
  {
    "$bin/proffer" "$command" --help
    for verb in $verbs; do
      printf '\nproffer %s %s\n\n' "$command" "$verb"
      "$bin/proffer" "$command" "$verb" --help
    done
  } </dev/null | page 1 "proffer-$command" "$summary"
done
