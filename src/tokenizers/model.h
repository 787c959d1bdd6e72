// The model of a tokenizer: converts a normalized and pre-tokenized piece of text to ids.
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

  /// A cache that the pieces of a text share: words seen before.
  class Memory {
   public:
    virtual ~Memory() = default;
  };
  /// Returns a new cache; null if the model uses none.
  [[nodiscard]] virtual std::unique_ptr<Memory> memory() const { return nullptr; }

  /// Appends the ids of a piece. `memory` is a cache of this model, or null.
  virtual void encode(std::string_view piece, std::vector<Id>& ids, Memory* memory) const = 0;

  [[nodiscard]] const Vocabulary& vocabulary() const noexcept { return vocabulary_; }

 protected:
  Vocabulary vocabulary_;
};

}  // namespace attn::tokenizers
