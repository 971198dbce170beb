"""The learners beside those of scikit-learn and metric-learn: errors, seconds and memory of fits.

Run ``python experiments/learners --help`` from the top of a checkout.
"""
