set(uses keras weights io communicators backends)
