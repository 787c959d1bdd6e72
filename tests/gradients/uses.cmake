set(uses backends/reference plan io graph base)
