#!/bin/zsh -f
# completed.zsh FOLDER LINE…: prints the completions of zsh, with the functions in FOLDER, after LINE and
# presses the tabulator. One word to a line, and -- after those for one LINE.

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
zpty -w shell 'LISTMAX=-1; unsetopt beep; echo rea""dy'
while zpty -r shell line; do [[ $line != ready* ]] || break; done
for line in "${@[2,-1]}"; do
  zpty -w -n shell "$line"$'\t'
  # The shell reads this when the completion is done. Then it empties the line.
  zpty -w shell $'\x15print -r -- -- >>$offered'
done
zpty -w shell exit
while zpty -r shell line; do :; done
sed '/^$/d' $offered
rm -f $offered
