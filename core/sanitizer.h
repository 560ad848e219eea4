#pragma once

// HEED_ADDRESS_SANITIZER and HEED_THREAD_SANITIZER are defined where a file is compiled for them, by
// g++ or by clang.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEED_ADDRESS_SANITIZER
#endif
#if __has_feature(thread_sanitizer)
#define HEED_THREAD_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(HEED_ADDRESS_SANITIZER)
#define HEED_ADDRESS_SANITIZER
#endif
#if defined(__SANITIZE_THREAD__) && !defined(HEED_THREAD_SANITIZER)
#define HEED_THREAD_SANITIZER
#endif
