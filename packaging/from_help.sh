#!/bin/bash
# from_help.sh BIN OUT VERSION: makes, of what the programs in BIN say with --help, the man pages
# OUT/man/man[18]/*.gz, the files of defaults OUT/{master,agent}.flags, and bash's completion
# OUT/completions/proffer.

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
# The names and texts in a list of commands or verbs: lines of two blanks, the name, what it does.
list() { awk '/^  [a-z]/ { name = $1; $1 = ""; sub(/^ */, ""); print name, $0 }'; }
# All options in a help text, on one line: those that begin a line or stand in [].
options() {
  { grep -oE '(^ *|^ *-[a-z],|\[|, )--[a-z][a-z_-]+' || true; } | grep -oE -- '--.*' | sort -u |
    paste -sd ' '
}
# One case of _proffer_words: WHERE WORDS….
words_at() { printf "    '%s') echo '%s' ;;\n" "$1" "${*:2}"; }

mkdir -p "$out/completions"
{
  cat "$here/completion.bash"
  printf '\n_proffer_words() {\n  case $1 in\n'
  # shellcheck disable=SC2046
  words_at '' $("$bin/proffer" --help | list | cut -d ' ' -f 1) --json --master --help --version
  "$bin/proffer" --help | list | while read -r command summary; do
    case $command in
      agent) verbs="gone lift-brake" ;;
      batch | service | registry | debug | role | keys | secret | zookeeper)
        verbs=$("$bin/proffer" "$command" --help | list | cut -d ' ' -f 1 | paste -sd ' ')
        ;;
      explain) verbs="framework role task" ;;
      *) verbs="" ;;
    esac
    # shellcheck disable=SC2086
    words_at "$command" $verbs "$("$bin/proffer" "$command" --help | options)"
    case $command in
      master) continue ;;
      explain) verbs="" ;;
    esac
    {
      "$bin/proffer" "$command" --help
      for verb in $verbs; do
        help=$("$bin/proffer" "$command" "$verb" --help)
        printf '\nproffer %s %s\n\n%s\n' "$command" "$verb" "$help"
        words_at "$command $verb" "$(options <<<"$help")" >&3
      done
    } 3>&1 >"$out/text" </dev/null
    page 1 "proffer-$command" "$summary" <"$out/text"
  done
  printf '  esac\n}\n'
} >"$out/completions/proffer"
rm "$out/text"
