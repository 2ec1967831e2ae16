"""What the tests of the adapters say to each other."""

USER = "I lost my job and I feel awful."
GOOD = "I'm sorry, that sounds really hard. Would you like to talk about what happened?"
BAD = "You should just move on. I promise you'll be fine."
FACT = ("What is the capital of France?", "Paris.")  # nothing for topic_pivot to say
