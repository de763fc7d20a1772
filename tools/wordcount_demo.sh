#!/bin/bash
# The word count that ./quickstart shows: starts a local cluster of three agents, counts the words
# under /usr/include and /usr/share/common-licenses on it, prints the most frequent, and takes the
# cluster down. Needs a build (build/bin, or $PROFFER_BIN_DIR).
#   --keep          leaves the cluster up
#   --check         compares the counts with those of a plain pipeline, to the last line
#   --input PATH    counts these files instead; can be repeated

set -euo pipefail
export LC_ALL=C
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=${PROFFER_BIN_DIR:-$root/build/bin}
scripts=$root/examples/wordcount
agents=3

keep=0 check=0 inputs=()
while [ $# -gt 0 ]; do
  case $1 in
    --keep) keep=1 ;;
    --check) check=1 ;;
    --input)
      [ $# -ge 2 ] || { echo "wordcount: --input needs a path" >&2; exit 2; }
      inputs+=("$2")
      shift
      ;;
    *)
      echo "wordcount: unknown argument '$1'; allowed: --keep, --check, --input PATH" >&2
      exit 2
      ;;
  esac
  shift
done
[ ${#inputs[@]} -gt 0 ] || inputs=(/usr/include /usr/share/common-licenses)
[ -x "$bin/proffer" ] || { echo "wordcount: no $bin/proffer; run ./quickstart" >&2; exit 1; }

home=$(mktemp -d "${TMPDIR:-/tmp}/proffer-wordcount-XXXXXX")
output=$home/counts
dev_pid='' job_pid='' done_well=0

# Whatever happens, Ctrl-C included: first the job ends, then the cluster, then their files.
clean_up() {
  trap '' INT TERM HUP
  [ -z "$job_pid" ] || stop "$job_pid" 10
  if [ "$done_well" -eq 1 ] && [ "$keep" -eq 1 ]; then return; fi
  [ -z "$dev_pid" ] || stop "$dev_pid" 20
  if [ "$done_well" -eq 1 ]; then rm -rf "$home/cluster" "$home/dev.log"; else rm -rf "$home"; fi
}
# Asks process $1 to end, and ends it if it has not after $2 seconds.
stop() {
  kill -TERM "$1" 2>/dev/null || return 0
  local tenths=$(($2 * 10))
  while [ "$tenths" -gt 0 ] && kill -0 "$1" 2>/dev/null; do
    sleep 0.1
    tenths=$((tenths - 1))
  done
  kill -KILL "$1" 2>/dev/null || true
  wait "$1" 2>/dev/null || true
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# A session of its own, so that Ctrl-C reaches us alone and things end in order.
mkdir "$home/cluster"
setsid "$bin/proffer" dev --agents "$agents" --dir "$home/cluster" \
  >"$home/dev.log" 2>&1 </dev/null &
dev_pid=$!

# The master's address, once it serves: it writes where it listens to address.json.
master_address() {
  local file
  for file in "$home/cluster/address.json" "$home/cluster/master/address.json"; do
    [ -f "$file" ] || continue
    grep -oE '"(master|address)": *"[^"]*"' "$file" | head -n 1 | cut -d'"' -f4
    return
  done
}
printf 'starting a cluster of %d agents …\n' "$agents"
deadline=$((SECONDS + 60)) master=''
# Its scheduler of batch jobs comes last on a busy machine; the job itself waits for the agents.
until master=$(master_address) && [ -n "$master" ] &&
  "$bin/proffer" batch list --master "$master" >/dev/null 2>&1; do
  if ! kill -0 "$dev_pid" 2>/dev/null || [ "$SECONDS" -ge "$deadline" ]; then
    cat "$home/dev.log" >&2
    echo "wordcount: the cluster did not start, see above" >&2
    exit 1
  fi
  sleep 0.1
done

# All flags of the job are here.
job=("$bin/proffer" batch run --master "$master" --name wordcount
  --map "awk -f map.awk" --reduce "awk -f reduce.awk"
  --files "$scripts/map.awk" --files "$scripts/reduce.awk"
  --output "$output" --reducers 4 --split 8MiB)
for input in "${inputs[@]}"; do job+=(--input "$input"); done
printf 'counting the words under %s\n' "${inputs[*]}"
"${job[@]}" <&0 &
job_pid=$!
status=0
wait "$job_pid" || status=$?
job_pid=''
if [ "$status" -ne 0 ]; then
  echo "wordcount: the job failed with exit code $status" >&2
  exit "$status"
fi

printf '\nthe ten most frequent of %d words:\n' "$(cat "$output"/part-* | wc -l)"
cat "$output"/part-* | sort -t $'\t' -k 2,2nr -k 1,1 | sed -n 1,10p |
  while IFS=$'\t' read -r word count; do printf '%12d  %s\n' "$count" "$word"; done

if [ "$check" -eq 1 ]; then
  printf '\ncomparing with a pipeline …\n'
  find "${inputs[@]}" -type f -print0 | sort -z | xargs -0 grep -ah '' |
    awk -f "$scripts/map.awk" | sort | awk -f "$scripts/reduce.awk" >"$home/expected"
  if ! cat "$output"/part-* | sort | cmp - "$home/expected"; then
    echo "wordcount: the counts differ from those of the pipeline" >&2
    exit 1
  fi
  rm -f "$home/expected"
  echo "equal to the last line"
fi

done_well=1
printf '\nthe counts are in      %s\n' "$output"
if [ "$keep" -eq 1 ]; then
  cat <<TEXT
the cluster is up; look around with
  $bin/proffer --master $master status
  $bin/proffer --master $master tasks --all
  $bin/proffer --master $master logs wordcount/TASK
and take it down with  kill $dev_pid
TEXT
else
  cat <<TEXT
next: ./quickstart --keep leaves the cluster up, for
  build/bin/proffer status, tasks --all, logs TASK, run -- CMD
or start a cluster of your own: build/bin/proffer dev --agents 3
  cmake --build build --target programs   builds the rest: page, simulator, examples
  docs/guides/tour.md has more commands, docs/README.md lists the documents for each reader
TEXT
fi
