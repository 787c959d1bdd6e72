set(uses open run gradients backends weights plan keras graph io tokenizers)
