set(uses keras backends/reference gradients plan io keras/config base)
