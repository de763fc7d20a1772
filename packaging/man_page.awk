# A man page of what a program says with --help, shown as it is. Variables: section, name, summary,
# version.

function escaped(text) {
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  if (text ~ /^[.']/) text = "\\\\&" text
  return text
}
BEGIN {
  printf ".TH \"%s\" \"%s\" \"\" \"Proffer %s\"\n", toupper(name), section, version
  printf ".SH NAME\n%s \\- %s\n", escaped(name), escaped(summary)
  printf ".SH DESCRIPTION\n.nf\n"
}
{ print escaped($0) }
END {
  printf ".fi\n.SH SEE ALSO\n.BR proffer (1),\n.BR proffer\\-master (8),\n.BR proffer\\-agent (8)\n"
}
