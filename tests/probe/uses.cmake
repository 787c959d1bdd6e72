set(uses generate open run gradients backends weights plan keras graph io tokenizers)
