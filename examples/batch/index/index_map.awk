# Text in, "word<TAB>file<TAB>1" out.
BEGIN {
  file = ENVIRON["mapreduce_map_input_file"]
  sub(/.*\//, "", file)
}
{
  words = split(tolower($0), word, /[^a-z]+/)
  for (i = 1; i <= words; ++i) if (word[i] != "") print word[i] "\t" file "\t1"
}
