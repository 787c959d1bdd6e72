// Warnings and progress of opening, training and generating, for whoever shows them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace attn::open {

/// Work under way, which ends with this object.
class Work {
 public:
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;

  /// So many more steps are done. May be called from any thread.
  virtual void advance(double steps = 1.0) { (void)steps; }
};

/// Hears nothing unless a class derived from it does. Messages name the fields of options in backticks, as `batch`.
class Listener {
 public:
  virtual ~Listener() = default;

  /// A deviation that was accepted.
  virtual void warn(std::string_view message) const { (void)message; }
  /// A detail, for who asks for details.
  virtual void note(std::string_view message) const { (void)message; }
  /// Work begins that may take long. `total` is the number of its steps; 0 if it is not known.
  [[nodiscard]] virtual std::unique_ptr<Work> begin(const std::string& what, double total = 0.0) const {
    (void)what;
    (void)total;
    return std::make_unique<Work>();
  }

 protected:
  Listener() = default;
  Listener(const Listener&) = default;
  Listener& operator=(const Listener&) = default;
};

/// Hears nothing.
class Silent final : public Listener {};

}  // namespace attn::open
