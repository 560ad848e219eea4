# One translation unit for each public header, which includes it first: so each header compiles alone.
get_property(heed_all_headers GLOBAL PROPERTY HEED_PUBLIC_HEADERS)
foreach(kind IN ITEMS OP HELPER)
  get_property(more GLOBAL PROPERTY HEED_${kind}_HEADERS)
  list(APPEND heed_all_headers ${more})
endforeach()

set(heed_header_units)
foreach(header IN LISTS heed_all_headers ITEMS "${heed_SOURCE_DIR}/ops.h" "${heed_SOURCE_DIR}/heed.h"
        "${heed_SOURCE_DIR}/version.h")
  file(RELATIVE_PATH header "${heed_SOURCE_DIR}" "${header}")
  string(MAKE_C_IDENTIFIER "${header}" unit)
  set(unit "${heed_generated_dir}/header_check/${unit}.cpp")
  file(CONFIGURE OUTPUT "${unit}" CONTENT "#include <heed/${header}>\n#include <heed/${header}>\n" @ONLY)
  list(APPEND heed_header_units "${unit}")
endforeach()

add_library(header_check OBJECT ${heed_header_units})
heed_target_defaults(header_check)
target_compile_options(header_check PRIVATE -O0 -g0)
target_include_directories(header_check PRIVATE "${heed_include_dir}" "${heed_generated_dir}/include")
