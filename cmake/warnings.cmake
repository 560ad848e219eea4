# Warnings are errors in heed's own build and silent in somebody else's. -Wconversion is left out because
# index arithmetic mixes widths everywhere; the part that loses digits, float to int and double to float, is in.
set(heed_warnings
    -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi -Wfloat-conversion
    $<$<CXX_COMPILER_ID:Clang>:-Wimplicit-float-conversion>
    $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>
    -Werror)
