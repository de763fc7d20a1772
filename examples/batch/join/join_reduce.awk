# "customer<TAB>0<TAB>name", then its orders "customer<TAB>1<TAB>order<TAB>cents". Writes
# "customer<TAB>name<TAB>order<TAB>cents"; what is in one table only is left out.
BEGIN { FS = OFS = "\t" }
$2 == 0 {
  known = $1
  name = $3
}
$2 == 1 && $1 == known { print $1, name, $3, $4 }
