#include "output/status_thread.h"

#include <mutex>
#include <utility>

#include "output/status_line.h"

namespace attn::cli {

StatusThread::StatusThread(Interval first, Interval interval, std::function<std::string()> text,
                           std::function<void(const std::string&)> draw)
    : interval_(interval),
      text_(std::move(text)),
      draw_(std::move(draw)),
      thread_([this, first] { draw_until_done(first); }) {}

StatusThread::~StatusThread() {
  {
    const std::lock_guard lock(StatusLine::mutex());
    over_ = true;
    StatusLine::wipe();
  }
  ended_.notify_all();
  thread_.join();
}

void StatusThread::draw_until_done(Interval wait) {
  std::unique_lock lock(StatusLine::mutex());
  const auto over = [this] { return over_; };
  for (; !ended_.wait_for(lock, wait, over); wait = interval_) {
    lock.unlock();  // the text may take a while, so the mutex is free meanwhile
    const std::string text = text_();
    lock.lock();
    if (over()) return;
    draw_(text);
  }
}

}  // namespace attn::cli
