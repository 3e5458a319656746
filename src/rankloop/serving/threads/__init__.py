"""What runs inside a loop: requests wait in a queue, and three threads do the work.

The *writer* gathers what waits into one transaction, so that many share the cost of one sync to
disk, and answers once it is durable. The *learner* applies entries to the engine and publishes what
readers rank by. The *follower* looks for entries of other processes. They share their
:class:`~rankloop.serving.threads.progress.Progress`.
"""
