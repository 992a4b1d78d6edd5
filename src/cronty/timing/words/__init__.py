"""Time in words: `read.read_words` turns what people say into a trigger, or says why it can't."""
