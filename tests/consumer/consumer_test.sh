#!/usr/bin/env bash
# Installs heed, moves the prefix, and builds examples/consumer against it in the three ways a stranger may:
# find_package, pkg-config, subdirectory.   usage: consumer_test.sh HEED_SOURCE HEED_BUILD COMPILER
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
if [[ -e "$work/prefix/include/heed/ops/kernels" ]]; then
  echo "the kernels' private headers are installed" >&2
  exit 1
fi

echo "== find_package"
configure package -DCMAKE_PREFIX_PATH="$work/prefix"

echo "== pkg-config"
pc=$(find "$work/prefix" -name heed.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
read -ra flags <<<"$(pkg-config --cflags --libs heed)"
LD_RUN_PATH=$(pkg-config --variable=libdir heed) \
  "$compiler" -std=c++20 "$source/examples/consumer/main.cpp" "${flags[@]}" -o "$work/consumer"
"$work/consumer"

echo "== subdirectory"
# Compiles all of heed once more, so without optimising.
configure subdirectory -DHEED_SOURCE="$source" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0
for folder in tests bench examples; do
  if [[ -e "$work/subdirectory/heed/$folder" ]]; then
    echo "as a subdirectory heed builds its $folder" >&2
    exit 1
  fi
done
