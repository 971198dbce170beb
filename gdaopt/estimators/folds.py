"""Folds of estimators with a parameter `cv`, and what `fit` passes on for them, such as groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.model_selection import PredefinedSplit, check_cv
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import _check_method_params

from gdaopt.errors import InvalidInputError
from gdaopt.estimators.inputs import Mask
from gdaopt.support.text import reason, shortened
from gdaopt.support.validation import check_name

Fold = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]
"""The samples to learn from, and those to score by."""

T = TypeVar("T")

_LISTED = (PredefinedSplit, type(check_cv([])))  # splitters that hold indices of all samples


class FoldsMixin:
    """What estimators that choose by the folds of their parameter `cv` have in common."""

    cv: Any

    def get_metadata_routing(self) -> MetadataRouter:
        """Say which arguments of `fit` go to `cv`, for scikit-learn's metadata routing.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRouter
        """
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        to_split = MethodMapping()
        for caller in ("fit", "fit_transform"):  # the second is what pipelines call
            to_split.add(caller=caller, callee="split")
        return router.add(splitter=self.cv, method_mapping=to_split)

    def _for_splitter(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what of the other arguments of `fit` the splitter is called with."""
        if get_config()["enable_metadata_routing"]:
            routed: Mapping[str, Any] = process_routing(self, "fit", **params)["splitter"]["split"]
            return routed
        for name in params:
            check_name("argument of fit", name, ("groups",))
        return {name: value for name, value in params.items() if value is not None}

    def _folds(
        self,
        X: Any,
        y: Any,
        passed: Mapping[str, Any],
        has_weight: Mask,
        *,
        stratified: bool = False,
    ) -> list[Fold]:
        """Return the folds of X, those of positive weight of those given to `fit`.

        Lists of folds are of all samples that were given; other folds are made of those in X.
        """
        folds: list[Fold] = []
        try:
            splitter = check_cv(self.cv, y, classifier=stratified)
            places = np.arange(X.shape[0])
            if isinstance(splitter, _LISTED):
                places = np.where(has_weight, np.cumsum(has_weight) - 1, -1)
            passed = _check_method_params(has_weight, passed, np.flatnonzero(has_weight))
            for fold in splitter.split(X, y, **passed):
                train, test = (part[part >= 0] for part in (places[part] for part in fold))
                folds.append((train, test))
        except (IndexError, TypeError, ValueError) as error:
            raise InvalidInputError(
                f"cv = {shortened(self.cv)} makes no folds: {reason(error)}"
            ) from error
        if not folds:
            raise InvalidInputError(f"cv = {shortened(self.cv)} makes no folds")
        for number, fold in enumerate(folds):
            for samples, what in zip(fold, ("learn from", "score by"), strict=True):
                if not len(samples):
                    raise InvalidInputError(
                        f"fold {number} of cv, counted from 0, has no sample to {what}; pass "
                        "other folds"
                    )
        return folds


def in_fold(number: int, fits: Iterator[T]) -> Iterator[T]:
    """Yield the fits of a fold; name the fold if its samples are refused."""
    try:
        yield from fits
    except InvalidInputError as error:
        raise InvalidInputError(
            f"fold {number} of cv, counted from 0, cannot be learned from: {error}; all samples "
            "together can, so pass other folds, such as more of them, shuffled or stratified"
        ) from error
