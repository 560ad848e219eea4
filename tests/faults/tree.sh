# Sourced by the scripts of this folder: a copy of the tree under build/faults (or $HEED_FAULTS_DIR), configured.
readonly faults=${HEED_FAULTS_DIR:-build/faults}
readonly copy=$faults/tree
readonly tree=$faults/build

# Brings the copy up to date; a file that is the same is not touched, so that it is not compiled again.
update_copy() {
  local file
  mkdir -p "$copy"
  while IFS= read -r -d '' file; do
    cmp -s "$file" "$copy/$file" && continue
    mkdir -p "$(dirname "$copy/$file")"
    cp "$file" "$copy/$file"
  done < <(git ls-files -z)
  comm -13 <(git ls-files | sort) <(cd "$copy" && find . -type f -printf '%P\n' | sort) |
    while IFS= read -r file; do rm "$copy/$file"; done
  cmake -S "$copy" -B "$tree" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
        -DHEED_EXAMPLES=OFF -DHEED_BENCH=OFF -DHEED_TESTS=ON >/dev/null
}

build() { cmake --build "$tree" --target "$1" >"$faults/log" 2>&1; }
