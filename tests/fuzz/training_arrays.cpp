// The optimizer state of a training in an untrusted file: the first byte selects the optimizer and the dtype of its
// variables, the rest is a .safetensors with arbitrary arrays as its state.
#include <array>

#include "attn/io/safetensors.h"
#include "attn/optimizers/optimizer.h"
#include "target.h"

namespace {

using namespace attn;

optimizers::Settings settings_of(std::uint8_t first) {
  static const std::array<optimizers::Rule, 6> kRules = {
      optimizers::Adam{},      optimizers::Nadam{}, optimizers::SGD{0.9, true},
      optimizers::Adafactor{}, optimizers::Muon{},  optimizers::RMSprop{0.9, 0.5, 1e-7, true}};
  optimizers::Settings out;
  out.rule = kRules[first % kRules.size()];
  out.use_ema = (first & 0x40U) != 0;
  if ((first & 0x80U) != 0) out.loss_scale.emplace();
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static constexpr std::array kDTypes = {DType::float32, DType::float64, DType::float16, DType::bfloat16};
  const DType dtype = kDTypes[(data[0] >> 4U) % kDTypes.size()];
  std::vector<Tensor> arrays;
  if (!fuzz::accepts([&] {
        for (const NamedTensor& each : io::parse_safetensors(fuzz::bytes_of(data + 1, size - 1), "state.safetensors"))
          arrays.push_back(each.tensor);
      }))
    return 0;
  optimizers::Optimizer optimizer(settings_of(data[0]), {{"a", {2, 3}, {}, dtype}, {"b", {3}, {}, dtype}}, 1);
  const std::vector<Tensor> weights = {Tensor(dtype, {2, 3}), Tensor(dtype, {3})};
  optimizer.begin(weights);
  fuzz::accepts([&] { optimizer.set_unsaved(arrays); });
  fuzz::accepts([&] { optimizer.set_state(arrays); });
  for (int step = 0; step < 2; ++step) optimizer.apply(weights, {{Tensor(dtype, {2, 3})}, {Tensor(dtype, {3})}});
  optimizer.finalize(weights);
  return 0;
}
