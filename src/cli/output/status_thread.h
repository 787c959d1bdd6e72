// A thread that redraws the status line during long work.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <string>
#include <thread>

namespace attn::cli {

/// Calls `draw(text())` first after `first` and then after each `interval`, until it is destroyed. Its destructor
/// erases the line and waits for the thread.
class StatusThread {
 public:
  using Interval = std::chrono::milliseconds;

  /// The thread calls both functions; it holds StatusLine::mutex() only while it draws.
  StatusThread(Interval first, Interval interval, std::function<std::string()> text,
               std::function<void(const std::string&)> draw);
  ~StatusThread();
  StatusThread(const StatusThread&) = delete;
  StatusThread& operator=(const StatusThread&) = delete;

 private:
  void draw_until_done(Interval wait);

  Interval interval_{};
  std::function<std::string()> text_;
  std::function<void(const std::string&)> draw_;
  std::condition_variable ended_;
  bool over_ = false;  // guarded by StatusLine::mutex()
  std::thread thread_;
};

}  // namespace attn::cli
