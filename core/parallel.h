#pragma once

#include <cstdint>
#include <vector>

namespace heed {

/// How many threads parallel loops may use: the number that was set, else OMP_NUM_THREADS, else the number of
/// processors of this process.
int num_threads();
/// ValueError if count < 1.
void set_num_threads(int count);

namespace detail {
using ChunkFunction = void (*)(void* context, std::int64_t chunk);
void run_chunks(std::int64_t chunks, ChunkFunction function, void* context);
}  // namespace detail

/// Calls `body(chunk)` for 0 <= chunk < chunks, in parallel. A nested call, and a call in a forked child,
/// runs serially. When chunks throw, all others still finish and the exception of the lowest one is rethrown.
template <class Body>
void parallel_chunks(std::int64_t chunks, Body&& body) {
  if (chunks == 1) {
    body(std::int64_t{0});
    return;
  }
  detail::run_chunks(
      chunks,
      [](void* context, std::int64_t chunk) {
        (*static_cast<std::remove_reference_t<Body>*>(context))(chunk);
      },
      const_cast<void*>(static_cast<const void*>(&body)));
}

/// Calls `body(begin, end)` on consecutive chunks of `grain` indices (the last may be shorter). Chunk borders
/// depend on n and grain alone, never on the number of threads, so results do not either.
template <class Body>
void parallel_for(std::int64_t n, std::int64_t grain, Body&& body) {
  if (n <= grain) {
    if (n > 0) body(std::int64_t{0}, n);
    return;
  }
  parallel_chunks((n - 1) / grain + 1, [&](std::int64_t chunk) {
    const std::int64_t begin = chunk * grain;
    body(begin, grain < n - begin ? begin + grain : n);
  });
}

/// `partial(begin, end)` on each chunk as in `parallel_for`; the partial results are joined in the
/// order of the chunks.
template <class T, class Partial, class Join>
T parallel_reduce(std::int64_t n, std::int64_t grain, T identity, Partial&& partial, Join&& join) {
  if (n <= 0) return identity;
  if (n <= grain) return join(identity, partial(std::int64_t{0}, n));
  struct Part {  // std::vector<bool> would let threads write to one byte
    T value;
  };
  std::vector<Part> parts(static_cast<std::size_t>((n - 1) / grain + 1), Part{identity});
  parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    parts[static_cast<std::size_t>(begin / grain)].value = partial(begin, end);
  });
  T result = identity;
  for (const Part& part : parts) result = join(result, part.value);
  return result;
}

}  // namespace heed
