set(uses plan backends/reference graph base)
