"""The paper's Table 1: classification errors of learned metrics, by one protocol for all rows."""

from experiments.table1.command import EXPERIMENT as EXPERIMENT
