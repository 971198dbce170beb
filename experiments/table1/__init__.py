"""The paper's Table 1: classification errors of learned metrics, by one protocol for all rows.

Run ``python experiments/table1 --help`` from the top of a checkout.
"""
