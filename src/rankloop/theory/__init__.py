"""Theory as code: margins, the papers' loss bounds, the adversary of the lower bound."""
