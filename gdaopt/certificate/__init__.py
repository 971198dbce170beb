"""How far a metric can be from the optimum: lower bounds by the exact oracle."""

from gdaopt.certificate.certify import Certificate, certify_metric, certify_point

__all__ = ["Certificate", "certify_metric", "certify_point"]
