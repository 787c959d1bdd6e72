// Texts as models: Keras JSON of Keras 3 and 2, bare configs, and the short encoder config.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attn/keras/options.h"
#include "config/json.h"
#include "model/functional.h"

namespace attn::keras {

/// What a text was read as.
struct ReadModel {
  std::unique_ptr<Document> document;
  std::unique_ptr<Document> expanded;  ///< what a short config or one of Keras 2 became
  LayerPtr root;
  bool from_encoder_config = false;
  Layer* single = nullptr;  ///< a layer on its own: the root, or in a model that was made around it to show it
  std::vector<std::string> warnings;
  /// Kernels of einsum layers were drawn by the rule of any kernel.
  bool older_fans = false;

  /// The root as a model, or null where it is a layer.
  [[nodiscard]] Functional* model() const { return dynamic_cast<Functional*>(root.get()); }
  /// The document whose places the layers know.
  [[nodiscard]] const Document& file() const { return expanded ? *expanded : *document; }
};

/// `source` names the text in messages. `problems` collects what is wrong, where it is given (Document::collect).
/// Throws Error (bad_input).
[[nodiscard]] ReadModel read_model(const std::string& source, std::string text, const ReadOptions& options,
                                   std::vector<Problem>* problems);
/// A layer of class `class_name` from key=value pairs; values are JSON, or plain words. Throws Error (bad_input).
[[nodiscard]] ReadModel read_layer_call(const std::string& class_name,
                                        const std::vector<std::pair<std::string, std::string>>& arguments);

}  // namespace attn::keras
