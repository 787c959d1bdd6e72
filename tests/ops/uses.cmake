set(uses backends/reference plan graph base)
