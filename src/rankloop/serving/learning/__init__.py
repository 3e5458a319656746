"""What models learn in a live loop: feedback becomes examples, and every model learns from them."""
