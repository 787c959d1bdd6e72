set(uses backends/cpu backends/reference plan graph base)
