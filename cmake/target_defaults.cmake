# What all targets of heed have in common.
function(heed_target_defaults target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE ${heed_sanitizer_flags})
  target_link_options(${target} PRIVATE ${heed_sanitizer_flags})
  if(PROJECT_IS_TOP_LEVEL)
    target_compile_options(${target} PRIVATE ${heed_warnings})
  endif()
endfunction()

# The library. Bits must not depend on which operations a compiler contracts, so contraction is off. SIMD
# targets are chosen at run time by Highway, so there is no -march. Optimisations that assume finite numbers
# are never on.
function(heed_library_defaults target)
  heed_target_defaults(${target})
  target_compile_options(${target} PRIVATE -ffp-contract=off -fno-math-errno)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${heed_include_dir}>
    $<BUILD_INTERFACE:${heed_generated_dir}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PRIVATE
    HeedOpenBLAS::openblas HeedPCRE2::pcre2 fmt::fmt hwy::hwy Threads::Threads
    $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
  if(heed_has_mpi)
    target_link_libraries(${target} PRIVATE $<LINK_ONLY:MPI::MPI_CXX>)
  endif()
  # While the major version is 0, every minor version may change the interface, and so counts as
  # a different library.
  set_target_properties(${target} PROPERTIES
    VERSION ${heed_VERSION} SOVERSION ${heed_VERSION_MAJOR}.${heed_VERSION_MINOR}
    POSITION_INDEPENDENT_CODE ON VISIBILITY_INLINES_HIDDEN ON DEFINE_SYMBOL ""
    LINK_DEPENDS "${heed_SOURCE_DIR}/cmake/heed.map")
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "SHARED_LIBRARY")
    # Its threads never end, so its code must stay: nodelete.
    target_link_options(${target} PRIVATE "LINKER:--version-script=${heed_SOURCE_DIR}/cmake/heed.map" "LINKER:-z,nodelete")
  endif()
endfunction()

# The sources of one room, and its headers for the umbrella.
function(heed_add_room room)
  file(GLOB sources CONFIGURE_DEPENDS "${heed_SOURCE_DIR}/${room}/*.cpp")
  file(GLOB headers CONFIGURE_DEPENDS "${heed_SOURCE_DIR}/${room}/*.h")
  target_sources(heed PRIVATE ${sources} ${headers})
  set_property(GLOBAL APPEND PROPERTY HEED_PUBLIC_HEADERS ${headers})
endfunction()
