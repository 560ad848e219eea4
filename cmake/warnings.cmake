# Warnings are errors in heed's own build and silent in somebody else's. -Wconversion is left out because
# index arithmetic mixes widths everywhere; the part that loses digits, float to int and double to float, is in.
set(heed_warnings
    -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi -Wfloat-conversion
    $<$<CXX_COMPILER_ID:Clang>:-Wimplicit-float-conversion>
    $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>
    # g++ 12 sees overlaps in std::string's own code at -O3 (its bug 105651).
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
    -Werror)
