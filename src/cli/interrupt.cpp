#include "interrupt.h"

#include <csignal>

namespace attn::cli {
namespace {

volatile std::sig_atomic_t noted = 0;

void set(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  // Reads and writes go on; the handler is gone with the first signal.
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  sigaction(signal, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt() {
  noted = 0;
  for (const int signal : {SIGINT, SIGTERM}) set(signal, [](int which) { noted = which; });
}

Interrupt::~Interrupt() {
  for (const int signal : {SIGINT, SIGTERM}) set(signal, SIG_DFL);
}

int Interrupt::signal() { return noted; }

}  // namespace attn::cli
