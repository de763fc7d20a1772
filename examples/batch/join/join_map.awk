# Says of each line which table it is from: 0 for customers, 1 for orders.
BEGIN {
  FS = OFS = "\t"
  table = ENVIRON["mapreduce_map_input_file"] ~ /customers/ ? 0 : 1
}
{
  $1 = $1 "\t" table
  print
}
