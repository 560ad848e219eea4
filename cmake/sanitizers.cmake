# HEED_SANITIZE applies to heed's targets one by one and not to the whole build, so that the main function
# of the test framework is compiled once, without sanitizers.
set(heed_sanitizer_flags)
if(HEED_SANITIZE STREQUAL "address")
  set(heed_sanitizer_flags -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The inserted checks make g++ give false warnings about initialisation; builds without
    # them warn rightly.
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

# The SIMD targets that kernels are compiled for. Each adds to the build time, and instrumented
# kernels take several times as long. So with a sanitizer only the best widespread target and the
# portable one are compiled.
set(heed_disabled_simd_targets HWY_SSSE3 HWY_AVX3_DL)
if(HEED_SANITIZE)
  list(APPEND heed_disabled_simd_targets HWY_AVX3 HWY_SSE4)
endif()
list(JOIN heed_disabled_simd_targets "|" heed_disabled_simd_targets)
