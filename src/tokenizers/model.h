// What makes ids of a piece of text that was cut and normalised before.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "vocabulary.h"

namespace attn::tokenizers {

class Model {
 public:
  explicit Model(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// What a text's pieces share while they are encoded one after another: words that were seen.
  class Memory {
   public:
    virtual ~Memory() = default;
  };
  /// Null where a model remembers nothing.
  [[nodiscard]] virtual std::unique_ptr<Memory> memory() const { return nullptr; }

  /// Appends the ids of a piece. `memory` is this model's, or null.
  virtual void encode(std::string_view piece, std::vector<Id>& ids, Memory* memory) const = 0;

  [[nodiscard]] const Vocabulary& vocabulary() const noexcept { return vocabulary_; }

 protected:
  Vocabulary vocabulary_;
};

}  // namespace attn::tokenizers
