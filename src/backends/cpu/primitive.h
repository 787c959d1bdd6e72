// oneDNN's primitives, callable from several threads at once without allocation.
#pragma once

#include <dnnl.hpp>
#include <vector>

#include "attn/base/tensor.h"
#include "engine.h"

namespace attn::backends::cpu {

/// Returns a dense row-major description of float32 numbers.
[[nodiscard]] dnnl::memory::desc plain(const dnnl::memory::dims& dims);

/// Returns attributes that leave scratch memory to the caller.
[[nodiscard]] dnnl::primitive_attr user_scratchpad();

/// Reorders `numbers`, described by `from`, to the layout `to` that a primitive requires for its weights.
[[nodiscard]] dnnl::memory packed(Engine& engine, const dnnl::memory::desc& from, const void* numbers,
                                  const dnnl::memory::desc& to);

/// A primitive with the memory objects and scratch memory of one thread.
class Call {
 public:
  Call(Engine& engine, dnnl::primitive primitive, const dnnl::memory::desc& scratchpad);

  /// Binds the argument to the same memory for all calls.
  void bind(int argument, const dnnl::memory& memory);
  /// Binds the argument to an address that set_address changes; returns its index.
  std::size_t bind(int argument, const dnnl::memory::desc& description);
  void set_address(std::size_t index, const void* address);

  void run();
  [[nodiscard]] std::int64_t bytes() const;  ///< bytes of scratch memory

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  dnnl::memory scratchpad_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

}  // namespace attn::backends::cpu
