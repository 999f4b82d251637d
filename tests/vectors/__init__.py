"""Inputs and right answers from HAMi's own behaviour and from numafit's rules, and the program that asks them."""
