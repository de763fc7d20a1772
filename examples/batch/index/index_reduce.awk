# Sorted lines "word<TAB>file<TAB>number" in, "word<TAB>file:number file:number" out.
BEGIN { FS = "\t" }
function end_file() { if (NR > 1) line = line (line == "" ? "" : " ") file ":" sum }
function end_word() { if (NR > 1) print word "\t" line }
$1 != word || $2 != file {
  end_file()
  if ($1 != word) {
    end_word()
    line = ""
  }
  word = $1
  file = $2
  sum = 0
}
{ sum += $3 }
END {
  if (NR > 0) {
    line = line (line == "" ? "" : " ") file ":" sum
    print word "\t" line
  }
}
