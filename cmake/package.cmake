# `./dev package`: a Debian package of the installed files, with the dependencies that its static library
# needs at link time.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # so the tests need not be built
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME heed-dev)
set(CPACK_PACKAGE_VENDOR "heed")
set(CPACK_PACKAGE_CONTACT "the heed developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${heed_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX "/usr")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # on the shared libraries it was linked with
set(CPACK_DEBIAN_PACKAGE_DEPENDS
  "libopenblas-pthread-dev | libopenblas-dev, libfmt-dev, libhwy-dev, libpcre2-dev")
if(heed_has_mpi)
  string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", libopenmpi-dev")
endif()
include(CPack)
