set(uses keras run weights io gradients backends)
