// Reads models from text: Keras JSON of Keras 3 and 2, bare configs, and the short encoder config.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attn/keras/options.h"
#include "config/json.h"
#include "model/functional.h"

namespace attn::keras {

/// The result of reading a text.
struct ReadModel {
  std::unique_ptr<Document> document;
  std::unique_ptr<Document> expanded;  ///< the translation of a short config, or of a config of Keras 2
  LayerPtr root;
  bool from_encoder_config = false;
  Layer* single = nullptr;  ///< the single layer: it is the root, or inside a model that was created to display it
  std::vector<std::string> warnings;
  /// Whether the kernels of einsum layers were drawn by the older rule, which is the same for any kernel.
  bool older_fans = false;

  /// Returns the root as a model, or null if it is a layer.
  [[nodiscard]] Functional* model() const { return dynamic_cast<Functional*>(root.get()); }
  /// Returns the document to which the layers' locations refer.
  [[nodiscard]] const Document& file() const { return expanded ? *expanded : *document; }
};

/// Reads a model or a layer from its text. `source` is the name of the text in messages. `problems`, if not null,
/// collects all errors (Document::collect). Throws Error (bad_input).
[[nodiscard]] ReadModel read_model(const std::string& source, std::string text, const ReadOptions& options,
                                   std::vector<Problem>* problems);
/// Creates a layer of class `class_name` from key=value pairs, whose values are JSON or plain words. Throws Error
/// (bad_input).
[[nodiscard]] ReadModel read_layer_call(const std::string& class_name,
                                        const std::vector<std::pair<std::string, std::string>>& arguments);

}  // namespace attn::keras
