set(uses generate tokenizers keras run weights io report backends)
