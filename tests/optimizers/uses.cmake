set(uses base)
