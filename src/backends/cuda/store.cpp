#include "store.h"

#include "attn/base/error.h"
#include "time_limits.h"

namespace attn::cuda {

CudaStore::CudaStore(std::shared_ptr<const Device> device) : device_(std::move(device)) {
  device_->use();
  stream_ = make_stream();
}

const CudaStore::State& CudaStore::found(const std::string& name) const {
  const auto found = states_.find(name);
  if (found == states_.end()) throw internal_error("no state is called '{}'", name);
  return found->second;
}

Tensor CudaStore::state(const std::string& name) const {
  const State& state = found(name);
  Tensor copy(state.type.dtype, state.type.shape);
  if (state.bytes == 0) return copy;
  device_->use();
  check(cudaMemcpyAsync(copy.data(), state.data.get(), static_cast<std::size_t>(state.bytes), cudaMemcpyDeviceToHost,
                        stream_.get()),
        "copying a state from the GPU");
  await(stream_.get(), time_limits().seconds, "copying a state from the GPU");
  return copy;
}

void CudaStore::set_state(const std::string& name, const Tensor& value) {
  const State& state = found(name);
  if (graph::TensorType{value.dtype(), value.shape()} != state.type) {
    throw internal_error("a value for the state '{}' is {} {}, and that is {} {}", name, name_of(value.dtype()),
                         value.shape().str(), name_of(state.type.dtype), state.type.shape.str());
  }
  if (state.bytes == 0) return;
  device_->use();
  check(cudaMemcpyAsync(state.data.get(), value.data(), static_cast<std::size_t>(state.bytes), cudaMemcpyHostToDevice,
                        stream_.get()),
        "copying a state to the GPU");
  await(stream_.get(), time_limits().seconds, "copying a state to the GPU");
}

std::byte* CudaStore::open(const graph::Value& value) {
  device_->use();
  const graph::TensorType type{value.dtype, value.shape};
  const auto [at, is_new] = states_.try_emplace(value.name);
  State& state = at->second;
  if (is_new) {
    try {
      state = {type, value.shape.size() * bytes_of(value.dtype), nullptr};
      state.data = allocate_device(state.bytes);
      if (state.bytes > 0) {
        check(cudaMemsetAsync(state.data.get(), 0, static_cast<std::size_t>(state.bytes), stream_.get()),
              "clearing a state");
      }
      await(stream_.get(), time_limits().seconds, "clearing a state");
    } catch (...) {
      states_.erase(at);
      throw;
    }
  }
  if (state.type != type) {
    throw internal_error("the state '{}' is {} {}, and a graph has {} {}", value.name, name_of(state.type.dtype),
                         state.type.shape.str(), name_of(type.dtype), type.shape.str());
  }
  return state.data.get();
}

std::shared_ptr<CudaStore> cuda_store(const backends::CompileOptions& options, std::shared_ptr<const Device> device) {
  if (!options.store) return std::make_shared<CudaStore>(std::move(device));
  auto store = std::dynamic_pointer_cast<CudaStore>(options.store);
  if (!store) throw internal_error("a store of another kind of backend was given");
  return store;
}

}  // namespace attn::cuda
