# Doxygen's input filter. Our headers are commented in plain `//`, for people who read them; Doxygen
# wants to be told which comments describe something. Read a header, print it with
#   a block of comment lines directly above a declaration        as `///`,
#   the file's first comment                                     as `///` of the file,
#   a comment behind a member or an enumerator                   as `///<`,
#   lines of a block that are indented further, which are code   between @code and @endcode.
# Lines between sections, `// --- the loop ---`, and blocks that stand alone describe nothing.

# What would be markup to Doxygen is text here.
function escaped(text) {
  gsub(/[\\@<>#&%]/, "\\\\&", text)
  return text
}

# The block that was read, as a description or as it was. At the beginning of a file, `what` is
# "@file".
function print_block(is_description, what,    i, text, indent, in_code) {
  for (i = 1; i <= lines; ++i) {
    if (!is_description) {
      print block[i]
      continue
    }
    text = block[i]
    indent = text
    sub(/\/\/.*/, "", indent)
    sub(/^ *\/\//, "", text)
    if (i == 1 && what != "") print "/// " what
    if (in_code && text ~ /[^ ]/ && text !~ /^   /) {
      print indent "/// @endcode"
      in_code = 0
    }
    if (!in_code && text ~ /^   +[^ ]/) {
      print indent "/// @code{.cpp}"
      in_code = 1
    }
    print indent "///" (in_code ? text : escaped(text))
  }
  if (in_code) print indent "/// @endcode"
  lines = 0
}

FNR == 1 { lines = 0; declared = 0 }

/^ *\/\/ ---/ { print_block(0); print ""; next }
/^ *\/\/( |$)/ { block[++lines] = $0; next }

# Whatever comes after a block decides what it is.
{
  if (!declared && lines > 0 && $0 == "") print_block(1, "@file")
  else print_block($0 != "" && $0 !~ /^ *[}#]/, "")
  if (lines == 0 && $0 != "" && $0 !~ /^#pragma/) declared = 1
}
/^ .*[;,] +\/\/ / || /^ +k[A-Za-z]+( = [^,]*)? +\/\/ / || /^[^ ].*\); +\/\/ / {
  match($0, / +\/\/ /)
  print substr($0, 1, RSTART - 1) "  ///< " escaped(substr($0, RSTART + RLENGTH))
  next
}
{ print }
END { print_block(0) }
