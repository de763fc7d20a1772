# Completion of proffer for bash. `_proffer_words` is made of what the programs say with --help:
# it prints, for a command or "COMMAND VERB", its verbs and options; for "" the commands.

# Names that the master knows, in the first column of what a command shows.
_proffer_names() {
  "${COMP_WORDS[0]}" "$@" 2>/dev/null | awk 'NR > 1 { print $1 }'
}

_proffer() {
  local current=${COMP_WORDS[COMP_CWORD]} command='' verb='' word i words
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    # Behind -- another command line begins.
    [[ $word != -- ]] || return 0
    [[ $word != -* ]] || continue
    if [[ -z $command ]]; then
      [[ ${COMP_WORDS[i - 1]} != --master ]] && command=$word
    elif [[ -z $verb && -n $(_proffer_words "$command $word") ]]; then
      verb=$word
    fi
  done
  words=$(_proffer_words "$command${verb:+ $verb}")
  if [[ $current != -* ]]; then
    case $command in
      exec | logs | kill) words=$(_proffer_names tasks --all) ;;
      tasks) words=$(_proffer_names tasks) ;;
      teardown) words=$(_proffer_names frameworks) ;;
      drain | undrain | reserve | unreserve) words=$(_proffer_names agents) ;;
      batch)
        case $verb in
          status | watch | wait | cancel) words=$(_proffer_names batch list) ;;
          logs | report | results | retry) words=$(_proffer_names batch list --all) ;;
        esac
        ;;
      agent) [[ $verb != gone ]] || words=$(_proffer_names agents) ;;
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
# Where nothing fits, files do: apps, jobs, scenarios.
complete -o default -F _proffer proffer
