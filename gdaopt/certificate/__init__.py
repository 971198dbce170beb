"""How far a metric can be from the optimum: lower bounds by the exact oracle."""

from gdaopt.certificate.certify import Certificate, Kind, certify_metric, certify_point

__all__ = ["Certificate", "Kind", "certify_metric", "certify_point"]
