"""Features that a loop computes itself, from its items and users and from past events.

Their state is a function of the journal's entries, like that of the models. It does not wait for
the models: the writer changes it as soon as an entry is durable.
"""
