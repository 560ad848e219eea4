#include <heed/train/interrupt.h>

namespace heed::train {
namespace {

volatile std::sig_atomic_t received = 0;

void note(int number) { received = number; }

}  // namespace

InterruptWatch::InterruptWatch() {
  received = 0;
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  ::sigaction(SIGINT, &action, &former_interrupt_);
  ::sigaction(SIGTERM, &action, &former_terminate_);
}

InterruptWatch::~InterruptWatch() {
  ::sigaction(SIGINT, &former_interrupt_, nullptr);
  ::sigaction(SIGTERM, &former_terminate_, nullptr);
}

int InterruptWatch::signal() const { return received; }

}  // namespace heed::train
