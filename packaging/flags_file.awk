# A file of defaults, all of them comments, of what a daemon says with --help. Variable: daemon.

BEGIN {
  printf "# Flags of %s, one to a line; those below are the defaults. Remove the # to\n", daemon
  printf "# change one, then: systemctl restart %s\n", daemon
}
/^Flags/ { inside = 1; next }
/^  --flagfile=/ || /^--helpfull/ { inside = 0 }
!inside { next }
/^[A-Z].*:$/ {
  if (flag != "") print flag
  flag = ""
  printf "\n## %s\n", substr($0, 1, length($0) - 1)
  next
}
/^  --/ {
  if (flag != "") print flag
  flag = "#" substr($0, 3)
  sub(/=…$/, "=", flag)
  print ""
  next
}
/^      / { print "# " substr($0, 7) }
END { print flag }
