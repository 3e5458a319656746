from .letor_twin import naive_read
def test_a(): assert naive_read
