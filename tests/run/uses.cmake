set(uses backends weights keras plan graph base)
