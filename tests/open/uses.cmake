set(uses run backends weights keras graph base)
