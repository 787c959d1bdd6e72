// Receivers of warnings and progress of opening, training and generating.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace attn::open {

/// Work in progress, which ends with this object.
class Work {
 public:
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;

  /// Adds finished steps. Thread-safe.
  virtual void advance(double steps = 1.0) { (void)steps; }
};

/// Ignores everything unless a derived class overrides it. Messages name the fields of options in backticks, as
/// `batch`.
class Listener {
 public:
  virtual ~Listener() = default;

  /// Receives a warning: a deviation from what was requested that was accepted.
  virtual void warn(std::string_view message) const { (void)message; }
  /// Receives a detail for --verbose.
  virtual void note(std::string_view message) const { (void)message; }
  /// Announces work that may take long. `total` is the number of its steps; 0 if it is unknown.
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

/// Ignores everything.
class Silent final : public Listener {};
inline const Silent kSilent{};

}  // namespace attn::open
