set(uses backends/onednn backends/reference plan graph base)
