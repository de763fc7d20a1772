# Sorted lines "word<TAB>file<TAB>number" in, one for each word and file out.
BEGIN { FS = "\t" }
$1 "\t" $2 != key {
  if (NR > 1) print key "\t" sum
  key = $1 "\t" $2
  sum = 0
}
{ sum += $3 }
END { if (NR > 0) print key "\t" sum }
