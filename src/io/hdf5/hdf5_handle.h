// HDF5 identifiers with a single owner. Included only by attn-hdf5.
#pragma once

#include <hdf5.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace attn::io {

/// A rejection by the library or by attn-hdf5 itself, with the message for the user.
struct Hdf5Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Closes its identifier on destruction.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Handle() = default;
  /// Throws Hdf5Refused if the library returned no identifier; `what` names the expected object.
  Handle(hid_t id, Close close, const std::string& what) : id_(id), close_(close) {
    if (id < 0) throw Hdf5Refused(what + " cannot be read or made");
  }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  [[nodiscard]] hid_t get() const noexcept { return id_; }

 private:
  hid_t id_ = H5I_INVALID_HID;
  Close close_ = nullptr;
};

/// Throws Hdf5Refused if the library returned a negative status.
inline void check(herr_t result, const std::string& what) {
  if (result < 0) throw Hdf5Refused(what + " cannot be read or made");
}

}  // namespace attn::io
