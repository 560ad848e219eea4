# Finds PCRE2 for 8-bit text and defines HeedPCRE2::pcre2. Debian's package has no CMake configuration
# of its own.
find_path(HeedPCRE2_INCLUDE_DIR pcre2.h)
find_library(HeedPCRE2_LIBRARY NAMES pcre2-8)
mark_as_advanced(HeedPCRE2_INCLUDE_DIR HeedPCRE2_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(HeedPCRE2 REQUIRED_VARS HeedPCRE2_LIBRARY HeedPCRE2_INCLUDE_DIR)

if(HeedPCRE2_FOUND AND NOT TARGET HeedPCRE2::pcre2)
  add_library(HeedPCRE2::pcre2 UNKNOWN IMPORTED)
  set_target_properties(HeedPCRE2::pcre2 PROPERTIES
    IMPORTED_LOCATION "${HeedPCRE2_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${HeedPCRE2_INCLUDE_DIR}")
endif()
