// The implementation of attn::Trainer.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "attn/attn.h"
#include "attn/open/model_text.h"
#include "attn/train/job.h"

namespace attn {

struct Trainer::Parts {
  /// Prepares the training. Throws Error.
  Parts(open::ModelText text, std::optional<std::string> path, const std::map<std::string, Tensor>& data,
        const TrainOptions& options, const std::map<std::string, Tensor>& validation);

  open::ModelText source;
  std::optional<std::string> path;  ///< path of the model's files
  train::Job job;
};

}  // namespace attn
