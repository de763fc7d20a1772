# The options in a help text, one to a line: WHERE, the option, 1 if it takes a value, and what it
# is for, with tabs between. An option begins a line, or it stands in the [] of a usage line.
# Variable: where, the command.

function add(option, after, text) {
  # --name,--other_name TEXT
  sub("^," name, "", after)
  if (!(option in takes)) {
    order[++count] = option
    takes[option] = 0
  }
  if (after ~ /^(=| [A-Z])/) takes[option] = 1
  if (described[option] == "") described[option] = text
}
BEGIN { name = "--[a-z][a-z_-]+" }
# What an option is for stands on the next line, if there is no place on its own.
waiting != "" && /^  +[^ -]/ {
  sub(/^ +/, "")
  if (described[waiting] == "") described[waiting] = $0
}
{
  waiting = ""
  line = $0
  while (match(line, "\\[(-[a-z], ?)?" name)) {
    option = substr(line, RSTART, RLENGTH)
    line = substr(line, RSTART + RLENGTH)
    sub(/.*--/, "--", option)
    add(option, line, "")
  }
}
# Text may begin with an option, too, but further left or right.
match($0, "^  (    )?(-[a-z],)?" name) {
  option = substr($0, 1, RLENGTH)
  after = substr($0, RLENGTH + 1)
  sub(/.*--/, "--", option)
  text = ""
  if (match(after, /   *[^ ]/)) text = substr(after, RSTART + RLENGTH - 1)
  # --ONE FILE, --OTHER FILE
  if (match(after, ", " name)) {
    other = substr(after, RSTART + 2, RLENGTH - 2)
    add(other, substr(after, RSTART + RLENGTH), text)
  }
  add(option, after, text)
  if (after !~ / [a-z]/) waiting = option
}
END {
  for (i = 1; i <= count; ++i) {
    printf "%s\t%s\t%d\t%s\n", where, order[i], takes[order[i]], described[order[i]] | "sort"
  }
}
