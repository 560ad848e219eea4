# Warnings are errors in heed's own build and silent in somebody else's. -Wconversion is left out because
# index arithmetic mixes widths everywhere; the part that loses digits, float to int and double to float, is in.
# Clang from 17 on reports that std::stable_sort of g++ 12's library calls a function which that library deprecates.
set(heed_warnings
    -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi -Wfloat-conversion
    $<$<CXX_COMPILER_ID:Clang>:-Wimplicit-float-conversion>
    $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>
    $<$<AND:$<CXX_COMPILER_ID:Clang>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,17>>:-Wno-deprecated-declarations>
    -Werror)
