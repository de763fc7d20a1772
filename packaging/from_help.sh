#!/bin/bash
# from_help.sh BIN OUT VERSION: makes, of what the programs in BIN say with --help, the man pages
# OUT/man/man[18]/*.gz, the files of defaults OUT/{master,agent}.flags, and completion for
# bash, zsh and fish, OUT/completions/proffer.*.

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
# Examples have two blanks, too.
list() {
  awk '/^  [a-z]/ && $1 != "proffer" { name = $1; $1 = ""; sub(/^ */, ""); print name, $0 }'
}
# Verbs of a command whose help does not list them.
verbs_of_agent() {
  for verb in gone lift-brake; do
    echo "$verb $("$bin/proffer" agent "$verb" --help | sed -n '3s/[.;] .*//p')"
  done
}
verbs_of_kinds() { printf '%s\n' "framework of a framework" "role of a role" "task of a task"; }
# The words after a command, for completion (packaging/completion/functions.awk). WHERE HELP VERBS.
words_at() {
  local verb summary
  while read -r verb summary; do
    [ -z "$verb" ] || printf '%s\t%s\t0\t%s\n' "$1" "$verb" "$summary"
  done <<<"$3"
  awk -v where="$1" -f "$here/completion/options.awk" <<<"$2"
}
# The man page of one command with all its verbs: COMMAND HELP VERBS. Words go to descriptor 3.
with_verbs() {
  local verb summary help verbs
  printf '%s\n' "$2"
  words_at "$1" "$2" "$3" >&3
  while read -r verb summary; do
    [ -n "$verb" ] || continue
    verbs=""
    # shellcheck disable=SC2086
    help=$("$bin/proffer" $1 "$verb" --help)
    ! grep -q '^Usage: .* SUBCOMMAND$' <<<"$help" || verbs=$(list <<<"$help")
    printf '\nproffer %s %s\n\n' "$1" "$verb"
    with_verbs "$1 $verb" "$help" "$verbs"
  done <<<"$3"
}

{
  "$bin/proffer" --help | list | awk '{ name = $1; $1 = ""; print "\t" name "\t0\t" substr($0, 2) }'
  printf '\t--%s\n' $'json\t0\tprint JSON' $'master\t1\tmaster\'s socket or HOST:PORT' \
    $'help\t0\tprint the commands' $'version\t0\tprint the version'
  "$bin/proffer" --help | list | while read -r command summary; do
    help=$("$bin/proffer" "$command" --help)
    verbs=""
    case $command in
      agent) verbs=$(verbs_of_agent) ;;
      batch | service | registry | debug | role | keys | secret | zookeeper)
        verbs=$(list <<<"$help")
        ;;
      explain | blame)
        # Not verbs with a --help of their own, but what the next word is chosen by.
        words_at "$command" "$help" "$(verbs_of_kinds)"
        for kind in framework role task; do words_at "$command $kind" "$help" ""; done
        page 1 "proffer-$command" "$summary" <<<"$help"
        continue
        ;;
      # It has a page of its own.
      master)
        words_at "$command" "$help" ""
        continue
        ;;
    esac
    with_verbs "$command" "$help" "$verbs" 3>&1 >"$out/text" </dev/null
    page 1 "proffer-$command" "$summary" <"$out/text"
  done
} >"$out/words"

mkdir -p "$out/completions"
for shell in bash zsh fish; do
  {
    cat "$here/completion/$shell"
    awk -v shell="$shell" -f "$here/completion/functions.awk" "$here/completion/names.txt" \
      "$out/words"
    # zsh loads the file at the first completion, and the file answers that one, too.
    [ $shell != zsh ] || printf '\n_proffer "$@"\n'
  } >"$out/completions/proffer.$shell"
done
rm "$out/text"
