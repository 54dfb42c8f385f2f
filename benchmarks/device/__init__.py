"""Draws per second by the number of chains: on an accelerator, on the same machine's processor, and by BlackJAX."""
