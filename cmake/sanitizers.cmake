# HEED_SANITIZE applies to heed's targets one by one and not to the whole build, so that the test framework's
# main is compiled once, without sanitizers.
set(heed_sanitizer_flags)
if(HEED_SANITIZE STREQUAL "address")
  set(heed_sanitizer_flags -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The inserted checks mislead g++ about what is initialised; the other builds warn of that.
    list(APPEND heed_sanitizer_flags -Wno-maybe-uninitialized)
  endif()
elseif(HEED_SANITIZE STREQUAL "thread")
  set(heed_sanitizer_flags -fsanitize=thread -fno-omit-frame-pointer)
elseif(NOT HEED_SANITIZE STREQUAL "")
  message(FATAL_ERROR "HEED_SANITIZE is '${HEED_SANITIZE}'; expected nothing, address or thread")
endif()
if(HEED_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "HEED_FUZZ needs clang, whose libFuzzer it uses; the compiler is ${CMAKE_CXX_COMPILER_ID}")
  endif()
  list(APPEND heed_sanitizer_flags -fsanitize=fuzzer-no-link)
endif()

# The SIMD targets that kernels are compiled for. Each takes its share of the build; instrumented kernels take a
# multiple of it, so under a sanitizer there are the best common one and the portable one.
set(heed_disabled_simd_targets HWY_SSSE3 HWY_AVX3_DL)
if(HEED_SANITIZE)
  list(APPEND heed_disabled_simd_targets HWY_AVX3 HWY_SSE4)
endif()
list(JOIN heed_disabled_simd_targets "|" heed_disabled_simd_targets)
