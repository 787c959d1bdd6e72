#include "primitive.h"

#include <exception>

#include "attn/base/error.h"

namespace attn::backends::cpu {

dnnl::memory::desc plain(const dnnl::memory::dims& dims) {
  dnnl::memory::dims strides(dims.size());
  dnnl::memory::dim stride = 1;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= dims[axis];
  }
  return {dims, dnnl::memory::data_type::f32, strides};
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::memory packed(Engine& engine, const dnnl::memory::desc& from, const void* numbers, const dnnl::memory::desc& to) {
  dnnl::memory source(from, engine.engine, const_cast<void*>(numbers));
  dnnl::memory result(to, engine.engine);
  dnnl::reorder(source, result).execute(engine.stream, source, result);
  engine.stream.wait();
  return result;
}

Call::Call(Engine& engine, dnnl::primitive primitive, const dnnl::memory::desc& scratchpad)
    : engine_(engine.engine), stream_(engine.engine), primitive_(std::move(primitive)) {
  if (scratchpad.get_size() == 0) return;
  scratchpad_ = dnnl::memory(scratchpad, engine_);
  bind(DNNL_ARG_SCRATCHPAD, scratchpad_);
}

void Call::bind(int argument, const dnnl::memory& memory) {
  memories_.push_back(memory);
  arguments_.push_back({argument, memory.get()});
}

std::size_t Call::bind(int argument, const dnnl::memory::desc& description) {
  bind(argument, dnnl::memory(description, engine_, nullptr));
  return memories_.size() - 1;
}

void Call::set_address(std::size_t index, const void* address) {
  // oneDNN's memory objects cannot be const; a bound source is only read.
  memories_[index].set_data_handle(const_cast<void*>(address));
}

void Call::run() {
  // With valid arguments, the only failure is a lack of memory inside oneDNN. Work items must not throw, and the pass
  // cannot continue, so the program ends.
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()), arguments_.data());
  if (status != dnnl_success) std::terminate();
}

std::int64_t Call::bytes() const {
  return scratchpad_ ? static_cast<std::int64_t>(scratchpad_.get_desc().get_size()) : 0;
}

}  // namespace attn::backends::cpu
