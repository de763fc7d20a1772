# The mapper of the word count: each word, in lower case, with a 1.
{
  line = tolower($0)
  gsub(/[^a-z]+/, " ", line)
  count = split(line, words, " ")
  for (i = 1; i <= count; i++) print words[i] "\t1"
}
