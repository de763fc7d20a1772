# Functions for the completion of one shell, of names.txt and of the words of all commands (lines of
# WHERE, word, 1 if it takes a value, and what it is for, with tabs between). Variable: shell.
#   _proffer_words WHERE    prints what may follow a command; for '' the commands. zsh and fish
#                           get what each word is for, too
#   _proffer_value KEY      succeeds if the option in "WHERE --OPTION" takes a value
#   _proffer_listing KEY    prints the command that lists names: KEY as in names.txt

function quote(text) {
  if (shell == "fish") {
    gsub(/\\/, "\\\\", text)
    gsub(/'/, "\\'", text)
  } else {
    gsub(/'/, "'\\''", text)
  }
  return "'" text "'"
}
# A function whose argument is one of `keys`, which are sorted. `bodies` has what to do for each.
function write(name, keys, size, bodies,    i, last, pattern) {
  if (shell == "fish") {
    printf "\nfunction %s\n  switch \"$argv[1]\"\n", name
  } else {
    printf "\n%s() {\n  case $1 in\n", name
  }
  for (i = 1; i <= size; ++i) {
    pattern = shell == "fish" ? "    case %s\n      %s\n" : "    %s) %s ;;\n"
    printf pattern, quote(keys[i]), bodies[keys[i]]
  }
  if (shell == "fish") {
    printf "    case '*'\n      return 1\n  end\nend\n"
  } else {
    printf "    *) return 1 ;;\n  esac\n}\n"
  }
}
BEGIN { FS = "\t" }
FILENAME ~ /names.txt$/ {
  colon = index($0, ":")
  if ($0 != "" && $0 !~ /^#/) listings[substr($0, 1, colon - 1)] = substr($0, colon + 2)
  next
}
{
  if (!($1 in words)) places[++places_size] = $1
  word = $2
  if (shell == "zsh") word = $4 == "" ? $2 : $2 ":" $4
  if (shell == "fish") word = $4 == "" ? $2 : $2 "\t" $4
  if (shell == "bash") {
    words[$1] = words[$1] == "" ? word : words[$1] " " word
  } else {
    words[$1] = words[$1] " " quote(word)
  }
  if (!$3) next
  key = $1 " " $2
  values[++values_size] = key
  does[key] = "return 0"
  all = "* " $2
  if (!(key in listings) && all in listings) listings[key] = listings[all]
  if (key in listings && listings[key] != "") {
    listed[++listed_size] = key
    lists[key] = "echo " listings[key]
  }
}
END {
  for (place in words) {
    words[place] = (shell == "bash" ? "echo " quote(words[place]) : "printf '%s\\n'" words[place])
  }
  for (key in listings) {
    if (key ~ / [0-9]$/) {
      listed[++listed_size] = key
      lists[key] = "echo " listings[key]
    }
  }
  # In the order of their names, so that every build writes the same bytes.
  for (i = 2; i <= listed_size; ++i) {
    key = listed[i]
    for (j = i - 1; j > 0 && listed[j] > key; --j) listed[j + 1] = listed[j]
    listed[j + 1] = key
  }
  write("_proffer_words", places, places_size, words)
  write("_proffer_value", values, values_size, does)
  write("_proffer_listing", listed, listed_size, lists)
}
