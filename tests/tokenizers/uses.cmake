# The families hold the tables of tokenizers.
set(uses keras)
