"""The paper's Table 1: classification errors of learned metrics, by one protocol for all rows."""
