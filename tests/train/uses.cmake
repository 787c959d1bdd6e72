set(uses keras weights io backends)
