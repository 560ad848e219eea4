#include <utility>

#include <heed/core/tape_trace.h>
#include <heed/core/watch.h>

namespace heed {

TapeTrace::TapeTrace(See see) : see_(std::move(see)), former_(std::exchange(detail::watch().trace, this)) {}

TapeTrace::~TapeTrace() { detail::watch().trace = former_; }

}  // namespace heed
