# The installed package: headers, library, CMake configuration and pkg-config file, all relative to the
# prefix. The rules exist without HEED_INSTALL, too, so that a project that contains heed can export its own
# targets; heed is then installed only by `cmake --install … --component heed`.
include(CMakePackageConfigHelpers)

set(heed_component COMPONENT heed)
if(NOT HEED_INSTALL)
  list(APPEND heed_component EXCLUDE_FROM_ALL)
endif()
set(heed_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/heed")

install(TARGETS heed EXPORT heed-targets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" ${heed_component}
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" ${heed_component}
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" ${heed_component})
install(DIRECTORY numeric core ops nn optim io text lm check train
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/heed" ${heed_component}
  FILES_MATCHING PATTERN "*.h" PATTERN kernels EXCLUDE)
install(FILES "${heed_generated_dir}/include/heed/heed.h" "${heed_generated_dir}/include/heed/ops.h"
              "${heed_generated_dir}/include/heed/version.h"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/heed" ${heed_component})
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/heed" ${heed_component})

# A static heed needs its dependencies on the link line of the program; a shared one brings them along.
get_target_property(heed_type heed TYPE)
set(heed_is_static OFF)
if(heed_type STREQUAL "STATIC_LIBRARY")
  set(heed_is_static ON)
  set(heed_pc_requires "Requires: fmt openblas libhwy libpcre2-8")
  set(heed_pc_libs "-lheed -pthread")
  if(heed_has_mpi)
    list(JOIN MPI_CXX_LIBRARIES " " heed_pc_mpi)
    string(APPEND heed_pc_libs " ${heed_pc_mpi}")
  endif()
else()
  set(heed_pc_requires "Requires.private: fmt openblas libhwy libpcre2-8")
  set(heed_pc_libs "-lheed")
endif()

install(EXPORT heed-targets NAMESPACE heed:: DESTINATION "${heed_package_dir}" ${heed_component})
configure_package_config_file(cmake/heed-config.cmake.in "${heed_generated_dir}/heed-config.cmake"
  INSTALL_DESTINATION "${heed_package_dir}")
write_basic_package_version_file("${heed_generated_dir}/heed-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${heed_generated_dir}/heed-config.cmake" "${heed_generated_dir}/heed-config-version.cmake"
              cmake/FindHeedOpenBLAS.cmake cmake/FindHeedPCRE2.cmake
  DESTINATION "${heed_package_dir}" ${heed_component})

file(RELATIVE_PATH heed_pc_prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
configure_file(cmake/heed.pc.in "${heed_generated_dir}/heed.pc" @ONLY)
install(FILES "${heed_generated_dir}/heed.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" ${heed_component})
