#pragma once

#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace heed::kernels {

/// While it lives, subnormal operands and results of this thread's arithmetic count as 0, in a
/// parallel loop those of all of its threads: processors take a hundred times as long for them
/// as for others. Then the modes that were there before are back. On processors other than
/// x86-64 and aarch64 it does nothing.
class FlushSubnormals {
 public:
  /// With `on` false it does nothing: for f64, which keeps subnormal numbers.
  explicit FlushSubnormals(bool on) : on_(on) {
    if (!on_) return;
    former_ = modes();
    set_modes(former_ | flush);
  }
  ~FlushSubnormals() {
    if (on_) set_modes((modes() & ~flush) | (former_ & flush));  // flags that were raised meanwhile stay
  }
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr std::uint64_t flush = 0x8040;  // of MXCSR: results (FTZ) and operands (DAZ)
  static std::uint64_t modes() { return _mm_getcsr(); }
  static void set_modes(std::uint64_t modes) { _mm_setcsr(static_cast<unsigned>(modes)); }
#elif defined(__aarch64__)
  static constexpr std::uint64_t flush = std::uint64_t{1} << 24;  // of FPCR: FZ
  static std::uint64_t modes() {
    std::uint64_t modes;
    asm volatile("mrs %0, fpcr" : "=r"(modes));
    return modes;
  }
  static void set_modes(std::uint64_t modes) { asm volatile("msr fpcr, %0" : : "r"(modes)); }
#else
  static constexpr std::uint64_t flush = 0;
  static std::uint64_t modes() { return 0; }
  static void set_modes(std::uint64_t) {}
#endif

  bool on_;
  std::uint64_t former_ = 0;
};

}  // namespace heed::kernels
