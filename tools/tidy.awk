# The rules of tools/tidy, for any POSIX awk (Debian's default is mawk: no {n} in expressions).
# Main input: layers.txt. Variable `list`: a file that names the files to look at.

function finding(where, rule) {
  print where ": " rule
  findings++
}

# A pattern of layers.txt as a regular expression.
function to_regex(pattern, is_header,    out, i, c) {
  out = ""
  for (i = 1; i <= length(pattern); i++) {
    c = substr(pattern, i, 1)
    if (c == "*" && substr(pattern, i + 1, 1) == "*") { out = out ".*"; i++ }
    else if (c == "*") out = out "[^/]*"
    else if (c == "." || c == "+") out = out "[" c "]"
    else out = out c
  }
  if (is_header && pattern ~ /\/$/) out = out ".*"
  return "^" out "$"
}

# The first row that matches a file, or 0.
function row_of(file,    i) {
  if (file in row_cache) return row_cache[file]
  for (i = 1; i <= rows; i++) if (file ~ row_files[i]) break
  return row_cache[file] = (i <= rows ? i : 0)
}

# Whether a file of row `r` may include the project's header `header`.
function may_include(r, header,    i) {
  if ((r, header) in may_cache) return may_cache[r, header]
  for (i = 1; i <= project_count[r]; i++) {
    if (header ~ project[r, i]) return may_cache[r, header] = 1
  }
  return may_cache[r, header] = 0
}

# Whether a file of row `r` may include `<header>` of the system or a library.
function may_use(r, header, file,    i, h) {
  h = "<" header ">"
  if (header ~ /^[a-z_0-9]+$/) return 1               # standard C++
  if (header ~ /^fmt\// && file ~ /[.]cc$/) return 1
  for (i = 1; i <= library_count[r]; i++) {
    if (library[r, i] == "**" || index(h, library[r, i]) == 1) return 1
    if (library[r, i] == "posix" && !(named_library(h)) &&
        header ~ /^[a-z_0-9]+[.]h$|^(sys|linux|netinet|arpa|net)\//) return 1
  }
  return 0
}

# Whether some row names this header as a library's; then "posix" does not stand for it.
function named_library(h,    name) {
  for (name in library_names) if (index(h, name) == 1) return 1
  return 0
}

function is_pure(file) {
  return file ~ /^(common|allocator)\// || file ~ /^proto\/[^\/]*[.](h|cc)$/ ||
         file ~ /^(master|slave|sdk|frameworks\/[a-z]+)\/core\//
}

# Text leaves to a terminal in one place (net/terminal.h), which escapes what steers it. Programs of
# virtual time or of a recording, which have no net, escape it themselves, on the same line. Not of
# interest is what an agent alone reads (executors, fetchers), and proffer-sim's own seeds.
function must_not_print(file) {
  if (file !~ /[.]cc$/ || file ~ /^net\/(terminal|json_log)[.]cc$/) return 0
  return file ~ /^(cli|net|sdk\/shell|master\/(shell|replay)|slave\/(doctor|shell))\// ||
         file ~ /^frameworks\/[a-z]+\/(shell\/|main[.]cc)/ || file ~ /^sdk\/[a-z_]*[.]cc$/ ||
         file ~ /^((master|slave)\/main|sim\/simulate_main)[.]cc$/
}
function prints(code) {
  if (code ~ /printable_(line|lines|json)\(/) return 0
  if (code ~ /std::c(out|err|log)[ ]*<</) {
    return code !~ /std::c(out|err|log)[ ]*<<[ ]*(""|k[A-Z][A-Za-z]*)[ ]*;/   # words of our own
  }
  code = " " code
  return code ~ /fmt::print\(|[^A-Za-z0-9_](v?f?d?printf|f?puts|f?putc|putchar|fwrite|perror)\(/ ||
         code ~ /write\(STD(OUT|ERR)_FILENO/
}

# Includes and style of one file, line by line.
function check_file(file,    line, code, n, r, header, cpp, script, pragma, where, pure, t) {
  cpp = file ~ /[.](cc|h)$/
  script = file ~ /[.](sh|awk|capnp|cmake)$|CMakeLists[.]txt$|^(test|quickstart|[.]ci\/run)$/ ||
           file ~ /^tools\/(check|tidy|format)$/
  if (!cpp && !script && file !~ /[.](md|yaml|txt|html|js|css|json)$/) return
  pure = is_pure(file)
  must_print_elsewhere = must_not_print(file)
  r = cpp ? row_of(file) : 0
  if (cpp && !r) finding(file, "no row of tools/layers.txt says what this file may include")
  while ((getline line < file) > 0) {
    n++
    where = file ":" n
    # Words.
    if (line ~ /(^|[^A-Za-z_])(TO[D]O|FIX[M]E|X[X]X)([^A-Za-z_]|$)/) {
      finding(where, "unfinished work is an issue, not a comment")
    }
    if (tolower(line) ~ /s[l]ave/ && file !~ /CMakeLists[.]txt$|[.]cmake$|^tools\/(tidy|layers)/) {
      t = tolower(line)
      gsub(/s[l]ave\/|tests\/s[l]ave|`s[l]ave`|ms_s[l]ave|s[l]ave_([a-z]+_)?tests/, "", t)
      if (t ~ /s[l]ave/) finding(where, "the word is agent; only the folder has the other name")
    }
    if (!cpp && !script) continue
    # Layout.
    if (index(line, "\t") && file !~ /^tests\/golden\//) finding(where, "tab")
    if (length(line) > 100 && file !~ /^tests\/golden\/|^tools\/layers[.]txt$/) {
      t = line
      gsub(/[\200-\277]/, "", t)   # the second and further bytes of a character
      if (length(t) > 100) finding(where, "line of " length(t) " columns, at most 100")
    }
    if (!cpp) continue

    if (line ~ /^#pragma once/) pragma = 1
    if (line ~ /^[ \t]*#[ \t]*include/) {
      header = line
      if (header ~ /"/) {
        sub(/^[^"]*"/, "", header); sub(/".*/, "", header)
        if (header ~ /^[a-z_]+[.]capnp[.]h$/) header = "proto/schema/" header   # generated
        own_root = file ~ /^tests\/packages\/author\//  # a project apart
        if (header !~ /\// && !own_root) finding(where, "include from the root: \"" header "\"")
        else if (header ~ /[.]cc$/) finding(where, "includes a .cc file")
        else if (r && !may_include(r, header)) {
          finding(where, "layers: may not include \"" header "\"")
        }
      } else {
        sub(/^[^<]*</, "", header); sub(/>.*/, "", header)
        if (r && !may_use(r, header, file)) finding(where, "layers: may not include <" header ">")
        if (pure && header ~ /^(thread|mutex|iostream|chrono|condition_variable|future|fstream)$/) {
          finding(where, "pure: may not include <" header ">")
        }
      }
      continue
    }
    if (must_print_elsewhere && line ~ /print|put|write|std::c|perror/) {
      code = line
      gsub(/\\"/, "", code)
      gsub(/"[^"]*"/, "\"\"", code)
      sub(/\/\/.*/, "", code)
      if (prints(code)) finding(where, "text leaves through net/terminal.h alone")
    }
    if (line !~ /throw|float|double|chrono|LOG|this_thread|sleep/) continue
    if (line ~ /\/\/ for printing/) continue
    code = line
    gsub(/\\"/, "", code)
    gsub(/"[^"]*"/, "\"\"", code)
    sub(/\/\/.*/, "", code)
    if (code ~ /^[ \t]*[*]/) continue
    if (code ~ /(^|[^A-Za-z_0-9])throw([^A-Za-z_0-9]|$)/) finding(where, "we throw nothing")
    if (pure) {
      if (code ~ /(^|[^A-Za-z_0-9])(float|double)([^A-Za-z_0-9]|$)/) {
        finding(where, "pure: floating point (mark a line that prints with // for printing)")
      }
      if (code ~ /std::chrono/) finding(where, "pure: std::chrono; cores are told the time")
      if (code ~ /(^|[^A-Za-z_0-9])V?LOG(_[A-Z_]*)?\(/ && code !~ /LOG\(FATAL\)/) {
        finding(where, "pure: cores do not log")
      }
    }
    if (file ~ /^tests\// &&
        code ~ /std::this_thread|sleep_for|sleep_until|usleep|(^|[^A-Za-z_.])sleep\(/) {
      finding(where, "tests wait for an event with a deadline, they do not sleep")
    }
  }
  close(file)
  if (cpp && file ~ /[.]h$/ && !pragma) finding(file ":1", "#pragma once is missing")
  if (cpp && n > 1000) finding(file, n " lines, at most 1000; look for the second noun")
  else if (cpp && n > 800) print file ": warning: " n " lines; look for the second noun"
}

# The library headers that a CMake target gives, by the target's name; "" if any file may link it.
function headers_of_target(target) {
  if (target ~ /^PkgConfig::UV/) return "uv.h"
  if (target ~ /^PkgConfig::ZMQ|^cppzmq/) return "zmq.h"
  if (target ~ /^PkgConfig::MHD/) return "microhttpd.h"
  if (target ~ /^PkgConfig::GNUTLS/) return "gnutls/gnutls.h"
  if (target ~ /^PkgConfig::SODIUM/) return "sodium.h"
  if (target ~ /^PkgConfig::SQLITE/) return "sqlite3.h"
  if (target ~ /^PkgConfig::CURL|^CURL::/) return "curl/curl.h"
  if (target ~ /^PkgConfig::RE2|^re2/) return "re2/re2.h"
  if (target ~ /^CapnProto::/) return "capnp/message.h"
  if (target ~ /^nlohmann_json/) return "nlohmann/json.hpp"
  if (target ~ /^yaml-cpp/) return "yaml-cpp/yaml.h"
  if (target ~ /^CLI11/) return "CLI/CLI.hpp"
  if (target ~ /^glog/) return "glog/logging.h"
  if (target ~ /^gflags/) return "gflags/gflags.h"
  return ""
}

# Reads one CMakeLists.txt: notes each proffer_library, proffer_program and proffer_quick_program
# with its folder, files and edges.
function read_cmake(file,    line, text, folder, depth, i, n, words, w, name, kind, mode, dir, t) {
  folder = file
  sub(/\/?CMakeLists[.]txt$/, "", folder)
  text = ""
  while ((getline line < file) > 0) {
    sub(/#.*/, "", line)
    text = text " " line
  }
  close(file)
  gsub(/\$\{CMAKE_CURRENT_SOURCE_DIR\}\/?/, "", text)
  gsub(/\$\{CMAKE_SOURCE_DIR\}\//, "//", text)
  while (match(text, /proffer_(library|(quick_)?program)[ ]*\([^)]*\)/)) {
    t = substr(text, RSTART, RLENGTH)
    text = substr(text, RSTART + RLENGTH)
    kind = t ~ /^proffer_library/ ? "library" : "program"
    sub(/^[^(]*\(/, "", t)
    sub(/\)$/, "", t)
    n = split(t, words, " ")
    name = kind == "library" ? "proffer_" words[1] : words[1]
    targets[++target_count] = name
    target_where[name] = file
    target_kind[name] = kind
    target_folder[name] = folder
    target_files[name] = ""
    target_deps[name] = ""
    mode = ""
    for (i = 2; i <= n; i++) {
      w = words[i]
      if (w ~ /^(PURE|DIR|DEPS|EXCLUDE|ONLY|SOURCES)$/) { mode = w; continue }
      if (mode == "DIR" && kind == "library") {
        target_folder[name] = w ~ /^\/\// ? substr(w, 3) : (folder == "" ? w : folder "/" w)
      } else if (mode == "ONLY" || mode == "SOURCES") {
        w = w ~ /^\/\// ? substr(w, 3) : (folder == "" ? w : folder "/" w)
        target_files[name] = target_files[name] " " w
      } else if (mode == "DEPS") {
        target_deps[name] = target_deps[name] " " w
      }
    }
  }
}

# Whether some file of the target may include `header` (project's) or `<header>` (is_library).
function target_may(name, header, is_library,    i, n, files, r, found) {
  n = split(target_files[name], files, " ")
  if (n == 0) {
    for (i = 1; i <= file_count; i++) {
      if (files_all[i] ~ ("^" target_folder[name] "/[^/]*[.](cc|h)$")) files[++n] = files_all[i]
    }
  }
  if (n == 0) files[++n] = target_folder[name] "/any.cc"
  for (i = 1; i <= n; i++) {
    r = row_of(files[i])
    if (!r) continue
    if (is_library ? may_use(r, header, files[i]) : may_include(r, header)) return 1
  }
  return 0
}

# A header that stands for the target.
function header_of(name,    files, f) {
  if (split(target_files[name], files, " ") > 0) {
    f = files[1]
    sub(/[.]cc$/, ".h", f)
    return f
  }
  return target_folder[name] "/any.h"
}

function check_edges(    i, j, n, deps, name, h) {
  for (i = 1; i <= target_count; i++) {
    name = targets[i]
    n = split(target_deps[name], deps, " ")
    for (j = 1; j <= n; j++) {
      if (deps[j] ~ /^proffer_/) {
        if (!(deps[j] in target_kind)) continue       # made by hand, or CMake will say so
        if (!target_may(name, header_of(deps[j]), 0)) {
          finding(target_where[name], "layers: " name " may not link " deps[j])
        }
      } else {
        h = headers_of_target(deps[j])
        if (h != "" && !target_may(name, h, 1)) {
          finding(target_where[name], "layers: " name " may not link " deps[j])
        }
      }
    }
  }
}

# One row of layers.txt.
/^[ \t]*(#|$)/ { next }
{
  if (split($0, part, "|") != 3) {
    print FILENAME ":" FNR ": a row is FILES | PROJECT | LIBRARIES"
    broken = 1
    exit
  }
  gsub(/[ \t]/, "", part[1])
  row_files[++rows] = to_regex(part[1], 0)
  count = split(part[2], words, " ")
  for (i = 1; i <= count; i++) project[rows, i] = to_regex(words[i], 1)
  project_count[rows] = count
  count = split(part[3], words, " ")
  for (i = 1; i <= count; i++) {
    library[rows, i] = words[i]
    if (words[i] ~ /^</) library_names[words[i]] = 1
  }
  library_count[rows] = count
}

END {
  if (broken) exit 2
  while ((getline name < list) > 0) files_all[++file_count] = name
  for (f = 1; f <= file_count; f++) {
    check_file(files_all[f])
    if (files_all[f] ~ /CMakeLists[.]txt$/) read_cmake(files_all[f])
  }
  check_edges()
  exit findings > 0 ? 1 : 0
}
