set(uses communicators io base)
