"""Predtron: a problem, a geometry and a rule make one perceptron for any prediction problem."""
