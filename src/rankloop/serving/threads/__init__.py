"""The threads of a loop: requests wait in a queue, and three threads do the work.

The *writer* puts all waiting requests into one transaction, so that they share the cost of one sync
to disk, and answers once it is durable. The *learning thread* applies entries to the engine and
publishes models for ranking. The *follower* looks for entries of other processes. They share their
:class:`~rankloop.serving.threads.progress.LoopProgress`.
"""
