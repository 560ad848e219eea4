# add_op(NAME FUNCTIONS f1 f2 ... [SOURCES more.cpp ...] [TEST name])
#
# Adds ops/NAME.h and ops/NAME.cpp to the library and the header to <heed/ops.h>, and tells the tests which
# functions it exports: a function without an OpCase fails the run. Stops the configure step when a file is
# missing. SOURCES are further files of ops/ for an operation that does not fit into one file. TEST is the
# name of the test file if it is not NAME.
function(add_op name)
  cmake_parse_arguments(PARSE_ARGV 1 op "" "TEST" "FUNCTIONS;SOURCES")
  if(op_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "add_op(${name}): unexpected '${op_UNPARSED_ARGUMENTS}'; expected FUNCTIONS f1 f2 ...")
  endif()
  list(TRANSFORM op_SOURCES PREPEND ops/)
  set(sources ops/${name}.h ops/${name}.cpp ${op_SOURCES})
  set(required ${sources})
  if(NOT op_TEST)
    set(op_TEST ${name})
  endif()
  if(PROJECT_IS_TOP_LEVEL)
    list(APPEND required tests/ops/${op_TEST}_test.cpp)
  endif()
  foreach(file IN LISTS required)
    if(NOT EXISTS "${heed_SOURCE_DIR}/${file}")
      message(FATAL_ERROR "add_op(${name}): ${file} is missing. An op is three files, ops/${name}.h, ops/${name}.cpp "
                          "and tests/ops/${op_TEST}_test.cpp, and one line in ops/CMakeLists.txt.")
    endif()
  endforeach()
  list(TRANSFORM sources PREPEND "${heed_SOURCE_DIR}/")
  target_sources(heed PRIVATE ${sources})
  set_property(GLOBAL APPEND PROPERTY HEED_OP_HEADERS "${heed_SOURCE_DIR}/ops/${name}.h")
  foreach(function IN LISTS op_FUNCTIONS)
    set_property(GLOBAL APPEND PROPERTY HEED_EXPORTED_OPS "HEED_EXPORTED_OP(${name}, ${function})")
  endforeach()
endfunction()

# add_op_helper(NAME): a header that several operations share, ops/NAME.h, with ops/NAME.cpp if there is
# one. It is installed but not part of <heed/ops.h>.
function(add_op_helper name)
  target_sources(heed PRIVATE "${heed_SOURCE_DIR}/ops/${name}.h")
  if(EXISTS "${heed_SOURCE_DIR}/ops/${name}.cpp")
    target_sources(heed PRIVATE "${heed_SOURCE_DIR}/ops/${name}.cpp")
  endif()
  set_property(GLOBAL APPEND PROPERTY HEED_HELPER_HEADERS "${heed_SOURCE_DIR}/ops/${name}.h")
endfunction()
