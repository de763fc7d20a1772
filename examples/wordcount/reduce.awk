# The reducer of the word count: adds up what follows one another with the same key. Its input is
# sorted by key. Keys are compared as text ("" appended): to some awks "inf" and "nan" are numbers.
BEGIN { FS = "\t" }
NR > 1 && $1 "" != key "" {
  printf "%s\t%.0f\n", key, sum
  sum = 0
}
{
  key = $1
  sum += $2
}
END { if (NR > 0) printf "%s\t%.0f\n", key, sum }
