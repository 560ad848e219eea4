# HEED_SANITIZE applies to heed's targets one by one and not to the whole build, so that the test framework's
# main is compiled once, without sanitizers.
set(heed_sanitizer_flags)
if(HEED_SANITIZE STREQUAL "address")
  set(heed_sanitizer_flags -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(HEED_SANITIZE STREQUAL "thread")
  set(heed_sanitizer_flags -fsanitize=thread -fno-omit-frame-pointer)
elseif(NOT HEED_SANITIZE STREQUAL "")
  message(FATAL_ERROR "HEED_SANITIZE is '${HEED_SANITIZE}'; expected nothing, address or thread")
endif()
