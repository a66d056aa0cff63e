#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh [SECONDS [TARGET...]]: builds the fuzzers with Clang and its sanitizers, and runs each for so long (10 s), as
# many at a time as there are processors. Prints a line for each. What is found is left in build/fuzz, and becomes a
# file of the target's corpus, which every compiler replays as a test.
set -euo pipefail
cd "$(dirname "$0")/../.."

export seconds=${1:-10} out=build/fuzz
targets=("${@:2}")
[[ ${#targets[@]} != 0 ]] || targets=(history decision field_case guard frames trace event_id)  # the slowest build first

build() {
  local name=$1 extra=()
  case $name in
    trace) extra=(-Iexamples/oracle examples/oracle/{trace,judge,judge_history,judge_report,report_text}.cpp -lfmt) ;;
    field_case) extra=(-pthread) ;;
  esac
  clang++ -std=c++17 -g1 -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -Iinclude \
    "tests/fuzz/$name.cpp" "${extra[@]}" -o "$out/$name"
}

run() {
  local name=$1 longest=2048 log=$out/$1.log status=0 runs counts
  case $name in
    event_id) longest=96 ;;
    history | decision) longest=512 ;;
    trace) longest=8192 ;;
  esac
  mkdir -p "$out/found/$name"
  "$out/$name" -max_len="$longest" -max_total_time="$seconds" -timeout=60 -artifact_prefix="$out/$name-" \
    "$out/found/$name" "tests/fuzz/corpus/$name" >"$log" 2>&1 || status=$?
  if [[ $status != 0 ]]; then
    grep -a -A 20 -e '^broken: ' -e '^==.*ERROR: ' -e 'runtime error: ' "$log" || tail -n 40 "$log"
    echo "$name: a finding, in $(grep -a -o "$out/$name-[a-z0-9-]*" "$log" | tail -n 1)"
    return 1
  fi
  runs=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log")
  counts=$(sed -n 's|^#.*DONE *cov: \([0-9]*\) .* corp: \([0-9]*\)/.*|\1 edges, corpus of \2|p' "$log")
  echo "$name: $runs executions, $counts"
}

export -f build run
mkdir -p "$out"
for step in build run; do
  printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I '{}' bash -euo pipefail -c "$step {}"
done
