#!/usr/bin/env bash
# Installs heed, moves the prefix, and builds examples/consumer against it in the ways a stranger may: find_package,
# pkg-config, subdirectory; with a static and with a shared heed; after hostile macros and under hostile flags. Then what a
# shared heed shows, and the budgets of the header and of heed.   usage: consumer_test.sh HEED_SOURCE HEED_BUILD COMPILER
# [report-50]
set -euo pipefail
source=$1 build=$2 compiler=$3
# Always the same folder, so that ccache knows the library's sources again.
work=$build/consumer_test
rm -rf "$work"
mkdir -p "$work"

configure() {  # NAME OPTION…
  local name=$1
  shift
  cmake -S "$source/examples/consumer" -B "$work/$name" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)" "$@"
  cmake --build "$work/$name"
  "$work/$name/consumer"
}

echo "== install, then move the prefix"
cmake --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/prefix"
if grep -rlE "$source|$build" "$work/prefix" --include='*.cmake' --include='*.pc' --include='*.h'; then
  echo "the files above name a folder of this machine" >&2
  exit 1
fi
if [[ -e "$work/prefix/include/heed/ops/kernels" || -e "$work/prefix/include/heed/ops/attention/kernels" ]]; then
  echo "the kernels' private headers are installed" >&2
  exit 1
fi

cmp "$source/LICENSE" "$work/prefix/share/doc/heed/LICENSE"

echo "== find_package"
configure package -DCMAKE_PREFIX_PATH="$work/prefix"

echo "== pkg-config"
pc=$(find "$work/prefix" -name heed.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
read -ra flags <<<"$(pkg-config --cflags --libs heed)"
LD_RUN_PATH=$(pkg-config --variable=libdir heed)
export LD_RUN_PATH
"$compiler" -std=c++20 "$source/examples/consumer/main.cpp" "${flags[@]}" -o "$work/consumer"
"$work/consumer"

echo "== macros named LOG, CHECK, ERROR, min and max; -ffast-math; C++23"
"$compiler" -std=c++2b -O2 -ffast-math "$source/tests/consumer/hostile.cpp" "${flags[@]}" -o "$work/hostile"
"$work/hostile"

echo "== a package that is missing is named, with what to install"  # [fault-39]
for package in fmt hwy nlohmann_json HeedOpenBLAS HeedPCRE2; do
  told=$(cmake -S "$source/examples/consumer" -B "$work/missing_$package" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
    -DHEED_SOURCE="$source" -DCMAKE_DISABLE_FIND_PACKAGE_$package=ON 2>&1) && { echo "no error without $package" >&2; exit 1; }
  grep -q "heed needs $package" <<<"$told" && grep -q 'apt-get install' <<<"$(tr '\n' ' ' <<<"$told")" ||
    { printf 'without %s the message is:\n%s\n' "$package" "$told" >&2; exit 1; }
done

echo "== the header's lines beyond those of the standard library"
lines=$("$compiler" -std=c++20 -E -x c++ "-I$work/prefix/include" - <<<'#include <heed/heed.h>' |
  awk '/^# [0-9]+ "/ { ours = $3 ~ /heed/ } !/^#/ && ours { ++count } END { print count + 0 }')
echo "$lines lines"
((lines > 1000 && lines <= 20000)) || { echo "not between 1000 and 20 000" >&2; exit 1; }

if [[ -e "$build/bin/heed" ]]; then
  echo "== the size of heed without debugging information"
  strip -o "$work/heed" "$build/bin/heed"
  bytes=$(stat -c %s "$work/heed")
  echo "$bytes bytes"
  ((bytes <= 8000000)) || { echo "more than 8 MB" >&2; exit 1; }
fi

echo "== subdirectory, shared"
# Compiles all of heed once more, so without optimising.
configure subdirectory -DHEED_SOURCE="$source" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 \
  -DBUILD_SHARED_LIBS=ON
for folder in tests bench examples app; do
  if [[ -e "$work/subdirectory/heed/$folder" ]]; then
    echo "as a subdirectory heed builds its $folder" >&2
    exit 1
  fi
done

echo "== a project with heed as a part exports a library of its own"  # [fault-39]
cmake -S "$source/tests/consumer/exporting" -B "$work/exporting" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DHEED_SOURCE="$source"
grep -rq 'heed::heed' "$work/exporting/CMakeFiles/Export" ||
  { echo "the exported library does not name heed::heed" >&2; exit 1; }

echo "== find_package, shared, from a moved prefix"
cmake --install "$work/subdirectory" --prefix "$work/first" >/dev/null
if [[ -e "$work/first" ]]; then
  echo "as a part of another project heed installs itself unasked" >&2
  exit 1
fi
cmake --install "$work/subdirectory" --prefix "$work/first" --component heed >/dev/null
mv "$work/first" "$work/shared"
configure shared_package -DCMAKE_PREFIX_PATH="$work/shared"
library=$(find "$work/shared" -name 'libheed.so.*.*.*')
objdump -p "$library" | grep SONAME
if nm -D --defined-only "$library" | awk '{ print $NF }' |
  grep -vE '^_Z(N|NK|NO|NKO|NR|NKR|TIN|TSN|TVN|TTN|GVN|GVZN|GVZNK|ZN|ZNK|THN|TWN|Thn.*_N|Tv.*_N)4heed'; then
  echo "the names above are not heed's, but the shared library shows them" >&2
  exit 1
fi
if nm -D --defined-only "$library" | grep ' _ZN4heed7kernels'; then
  echo "the shared library shows the kernels above" >&2
  exit 1
fi
