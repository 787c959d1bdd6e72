#include "classes/layers/keras_hub/masked_head.h"

#include <array>
#include <string>

#include "classes/reading.h"

namespace attn::keras {

std::span<const std::string_view> MaskedHead::arguments() const {
  static constexpr std::array<std::string_view, 2> kNames = {"inputs", "mask_positions"};
  return kNames;
}

std::vector<Layer::Sublayer> MaskedHead::sublayers() {
  std::vector<Sublayer> out = Composite::sublayers();
  // The embedding was built earlier: its paths do not include this layer's name.
  if (embedding_ != nullptr) out.insert(out.begin(), {embedding_, embedding_->name + "/", "token_embedding/", true});
  return out;
}

void MaskedHead::share(const std::map<std::int64_t, Layer*>& members) {
  if (!token_embedding) return;
  const Json& read = token_embedding->envelope;
  if (const auto id = read.find("shared_object_id"); id != read.end() && id->is_number_integer())
    if (const auto member = members.find(id->get<std::int64_t>());
        member != members.end() && member->second->info == token_embedding->info)
      embedding_ = member->second;
}

std::optional<std::vector<Shape>> MaskedHead::symbolic_shapes(Call& call) {
  Shape out = call.shape("mask_positions");
  out.push_back(*vocabulary_size);
  return {{out}};
}

void MaskedHead::embedding_field(Fields& f) {
  if (!f.reading()) {
    f("token_embedding", token_embedding);
  } else if (const auto ref = f.take("token_embedding"); ref && !ref->is_null()) {
    token_embedding = read_layer(*ref, f.warnings());
    embedding_ = token_embedding.get();
  }
}

void MaskedHead::check_embedding(const Ref& config) {
  if (!token_embedding) return;
  const Ref embedding = config["token_embedding"];
  if (token_embedding->info->name != "ReversibleEmbedding")
    embedding.fail("expected a ReversibleEmbedding, got " + std::string(token_embedding->class_name()));
  const std::int64_t rows = embedding["config"]["input_dim"].integer();
  if (vocabulary_size && vocabulary_size->value != rows)
    config["vocabulary_size"].fail(
        fmt::format("the token embedding has {} rows, got {}", rows, vocabulary_size->value));
  vocabulary_size = rows;
  features_ = embedding["config"]["output_dim"].integer();
}

TensorPtr MaskedHead::masked(Call& call) {
  if (take_ == nullptr) take_ = make_operation("TakeAlongAxis", {{"axis", 1}});
  const TensorPtr positions = call.tensor("mask_positions");
  return apply(call, *take_, {call.tensor("inputs"), Call::result(call.builder().expand_dims(positions->id, -1))});
}

}  // namespace attn::keras
