# Writes <heed/version.h>, <heed/ops.h>, <heed/heed.h> and, only for the tests, exported_ops.inc.
function(heed_write_umbrella path title headers)
  set(includes "")
  foreach(header IN LISTS headers)
    file(RELATIVE_PATH header "${heed_SOURCE_DIR}" "${header}")
    string(APPEND includes "#include <heed/${header}>\n")
  endforeach()
  file(CONFIGURE OUTPUT "${heed_generated_dir}/include/heed/${path}"
       CONTENT "// ${title}\n#pragma once\n\n${includes}" @ONLY)
endfunction()

function(heed_write_umbrella_headers)
  get_property(op_headers GLOBAL PROPERTY HEED_OP_HEADERS)
  get_property(room_headers GLOBAL PROPERTY HEED_PUBLIC_HEADERS)
  set(all_headers ${op_headers} ${room_headers})
  list(SORT op_headers)
  list(SORT all_headers)
  heed_write_umbrella(ops.h "Every operation of heed." "${op_headers}")
  heed_write_umbrella(heed.h "All of heed." "${all_headers};${heed_SOURCE_DIR}/version.h")
  configure_file("${heed_SOURCE_DIR}/cmake/version.h.in" "${heed_generated_dir}/include/heed/version.h" @ONLY)
  file(CONFIGURE OUTPUT "${heed_generated_dir}/version.cpp" CONTENT [[
#include <heed/version.h>

std::string_view heed::version() noexcept { return HEED_VERSION_STRING; }
]] @ONLY)
  target_sources(heed PRIVATE "${heed_generated_dir}/version.cpp")

  get_property(exported GLOBAL PROPERTY HEED_EXPORTED_OPS)
  list(JOIN exported "\n" exported)
  file(CONFIGURE OUTPUT "${heed_generated_dir}/tests/exported_ops.inc" CONTENT "${exported}\n" @ONLY)
endfunction()
