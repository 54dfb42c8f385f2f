"""Choices of automatic warm-up, and efficiency compared with BlackJAX's NUTS."""
