set(uses backends/reference backends/cpu communicators plan graph io base)
