#!/bin/zsh -f
# completed.zsh FOLDER LINE…: prints the completions of zsh, with the functions in FOLDER, after the
# Tab key at the end of each LINE. One word a line, and -- after the words of one LINE.

zmodload zsh/zpty
offered=$(mktemp)
# A shell at a terminal of its own, which writes down all words that it would show.
zpty shell zsh -f -i
zpty -w shell "offered=$offered; fpath=(${(q)1} \$fpath); autoload -Uz compinit; compinit -u -D"
zpty -w shell 'compadd() {
  local -a words
  [[ ${@[1,(i)(-|--)]} == *-[OAD]\ * ]] || {
    builtin compadd -A words "$@"
    print -rl -- $words >>$offered
  }
  builtin compadd "$@"
}'
# Ctrl-G ends a line. No key that the terminal itself knows is typed, since a line may be typed
# before the shell reads keys.
zpty -w shell 'next_line() { print -r -- -- >>$offered; BUFFER= }; zle -N next_line'
zpty -w shell 'bindkey "^G" next_line'
zpty -w shell 'LISTMAX=-1; unsetopt beep; echo rea""dy'
while zpty -r shell line; do [[ $line != ready* ]] || break; done
for line in "${@[2,-1]}"; do
  zpty -w -n shell "$line"$'\t\x07'
done
zpty -w shell exit
while zpty -r shell line; do :; done
sed '/^$/d' $offered
rm -f $offered
