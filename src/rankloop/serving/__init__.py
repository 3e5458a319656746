"""The live loop: rank, journal, observe, learn, rank again; every state can be reproduced."""
