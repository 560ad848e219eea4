# Finds OpenBLAS and defines HeedOpenBLAS::openblas. Debian can install several builds of it side by side.
# The pthread build is preferred, because its results do not depend on OpenMP's thread limit.
find_path(HeedOpenBLAS_INCLUDE_DIR NAMES cblas.h
          PATH_SUFFIXES openblas-pthread openblas x86_64-linux-gnu/openblas-pthread
                        aarch64-linux-gnu/openblas-pthread)
find_library(HeedOpenBLAS_LIBRARY NAMES openblas PATH_SUFFIXES openblas-pthread)
mark_as_advanced(HeedOpenBLAS_INCLUDE_DIR HeedOpenBLAS_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(HeedOpenBLAS
  REQUIRED_VARS HeedOpenBLAS_LIBRARY HeedOpenBLAS_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "on Debian: apt-get install libopenblas-pthread-dev")

if(HeedOpenBLAS_FOUND AND NOT TARGET HeedOpenBLAS::openblas)
  add_library(HeedOpenBLAS::openblas UNKNOWN IMPORTED)
  set_target_properties(HeedOpenBLAS::openblas PROPERTIES
    IMPORTED_LOCATION "${HeedOpenBLAS_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${HeedOpenBLAS_INCLUDE_DIR}")
endif()
