#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Counts the instructions of the five hottest calls and compares them with instructions.txt: a slow change is seen on any
# machine, however busy. Fails if a call takes over 10 % more than its line there says.
#   instructions.sh [--update]    with --update it writes the lines of this compiler anew
# CXX is the compiler, g++ by default. Needs valgrind.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")"

slack=10  # per cent
calls=200
compiler=${CXX:-g++}
update=false
case "$*" in
  '') ;;
  --update) update=true ;;
  *)
    echo 'usage: instructions.sh [--update]' >&2
    exit 2
    ;;
esac

name=gcc
[[ $("$compiler" --version) == *clang* ]] && name=clang
version=$("$compiler" -dumpversion)
name+=-${version%%.*}

build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
"$compiler" -std=c++17 -O2 -I../../include calls.cpp -o "$build/calls"

# How many instructions that many calls and all around them take. The memcpy and memchr that every processor has: glibc
# would choose by the machine's.
instructions_of() {
  local output
  output=$(GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-ERMS,-FSRM valgrind --vgdb=no --tool=callgrind --callgrind-out-file=/dev/null "$build/calls" "$1" "$2" 2>&1)
  sed -n 's/.*Collected : \([0-9]*\).*/\1/p' <<<"$output"
}

lines=() failed=false
mapfile -t names < <("$build/calls")
printf '%-24s%12s%12s%10s\n' "$name -O2" committed counted change
for call in "${names[@]}"; do
  none=$(instructions_of "$call" 0)
  all=$(instructions_of "$call" "$calls")
  counted=$(((all - none) / calls))
  lines+=("$name $call $counted")
  committed=$(awk -v name="$name" -v call="$call" '$1 == name && $2 == call { print $3 }' instructions.txt)
  if [[ -z $committed ]]; then
    printf '%-24s%12s%12d\n' "$call" none "$counted"
    failed=true
    continue
  fi
  verdict=
  if ((counted * 100 > committed * (100 + slack))); then
    verdict='  SLOWER'
    failed=true
  fi
  change=$(awk -v a="$committed" -v b="$counted" 'BEGIN { printf "%+.1f %%", 100 * (b - a) / a }')
  printf '%-24s%12d%12d%10s%s\n' "$call" "$committed" "$counted" "$change" "$verdict"
done

if $update; then
  {
    grep -v "^$name " instructions.txt || true
    printf '%s\n' "${lines[@]}"
  } >"$build/instructions.txt"
  cp "$build/instructions.txt" instructions.txt
  exit 0
fi
if $failed; then
  echo "over ${slack} % more than instructions.txt says, or not in it; if that is meant: instructions.sh --update" >&2
  exit 1
fi
