// The inside of attn::Trainer.
#pragma once

#include <map>
#include <string>

#include "attn/attn.h"
#include "attn/open/model_text.h"
#include "attn/train/job.h"

namespace attn {

struct Trainer::Parts {
  /// Throws Error.
  Parts(const open::ModelText& text, const std::map<std::string, Tensor>& data, const TrainOptions& options,
        const std::map<std::string, Tensor>& validation);

  train::Job job;
};

}  // namespace attn
