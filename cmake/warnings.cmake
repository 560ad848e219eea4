# Warnings are errors in heed's own build and off when heed is part of another project. -Wconversion is left
# out because index arithmetic mixes integer widths everywhere; the part of it about lost digits (float to
# integer, double to float) is on. Clang from 17 on warns that std::stable_sort of g++ 12's standard library
# calls a function that this library deprecates; that warning is off.
set(heed_warnings
    -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi -Wfloat-conversion
    $<$<CXX_COMPILER_ID:Clang>:-Wimplicit-float-conversion>
    $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>
    $<$<AND:$<CXX_COMPILER_ID:Clang>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,17>>:-Wno-deprecated-declarations>
    -Werror)
