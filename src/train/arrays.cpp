#include "attn/train/arrays.h"

#include <fmt/format.h>

#include <vector>

#include "attn/base/error.h"
#include "attn/io/tensor_file.h"

namespace attn::train {
namespace {

std::vector<NamedTensor> low_rank_factors(const Trainer& trainer) {
  std::vector<NamedTensor> out;
  for (std::size_t i = 0; i < trainer.specs().size(); ++i) {
    const std::string& path = trainer.specs()[i].path;
    if (path.substr(path.rfind('/') + 1).starts_with("lora_")) out.push_back({path, trainer.weights()[i]});
  }
  return out;
}

}  // namespace

void write_dump(const std::string& path, const Trainer& trainer, const std::vector<NamedTensor>& state) {
  std::vector<NamedTensor> arrays;
  for (std::size_t i = 0; i < trainer.specs().size(); ++i)
    arrays.push_back({"weight:" + trainer.specs()[i].path, trainer.weights()[i]});
  for (std::size_t i = 0; i < state.size(); ++i) arrays.push_back({fmt::format("optimizer:{}", i), state[i].tensor});
  io::write_tensors(path, arrays);
}

void write_low_rank(const std::string& path, const Trainer& trainer) {
  io::write_tensors(path, low_rank_factors(trainer));
}

void expect_low_rank(const Trainer& trainer) {
  if (low_rank_factors(trainer).empty())
    throw bad_usage("`lora_output`: no layer has a LoRA adapter; add some with `lora` RANK");
}

}  // namespace attn::train
