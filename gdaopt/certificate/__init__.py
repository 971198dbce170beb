"""How far a metric can be from the optimum: lower bounds by the exact oracle."""

from gdaopt.certificate.certify import (
    Certificate,
    certify,
    certify_point,
    value_below,
)
from gdaopt.certificate.tangent import nothing_to_certify

__all__ = [
    "Certificate",
    "certify",
    "certify_point",
    "nothing_to_certify",
    "value_below",
]
