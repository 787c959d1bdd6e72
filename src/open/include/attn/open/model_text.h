// The text of a model's config.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "attn/keras/options.h"
#include "attn/weights/store.h"

namespace attn::open {

/// A model's config as text, not yet parsed.
struct ModelText {
  std::string name;  ///< the file, and the archive's member with the config: "model.keras:config.json"
  std::string text;
  keras::ReadOptions options;
  std::optional<std::string> weights;                      ///< the file or folder that also holds the weights
  std::shared_ptr<const weights::Store> arrays = nullptr;  ///< weights in memory, in place of those of the file
};

}  // namespace attn::open
