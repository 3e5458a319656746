"""Parameters in scikit-learn's way, without importing scikit-learn."""

from __future__ import annotations

import copy
import inspect
from typing import TYPE_CHECKING, Any, Self

from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from sklearn.utils import Tags
    from sklearn.utils.metadata_routing import MetadataRequest

_ROUTED = ("fit", "partial_fit", "predict", "transform", "score")
_METADATA = ("qid", "group", "sample_weight", "query_weight")


class Estimator:
    """What scikit-learn expects of an estimator: `__init__` only stores its keyword parameters.

    Cloning, pipelines and searches use :meth:`get_params` and :meth:`set_params`.
    """

    @classmethod
    def _parameters(cls) -> dict[str, object]:
        """Return the names of the parameters with their defaults."""
        parameters = inspect.signature(cls).parameters
        return {name: parameter.default for name, parameter in parameters.items()}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return parameters by name; with `deep`, also those of parameters that are estimators."""
        params = {name: getattr(self, name) for name in self._parameters()}
        if deep:
            for name, value in list(params.items()):
                if isinstance(value, Estimator):
                    params.update({f"{name}__{k}": v for k, v in value.get_params().items()})
        return params

    def set_params(self, **params: object) -> Self:
        """Set parameters by name, for example `rate=0.1` or `ranker__rate=0.1`."""
        for name, value in params.items():
            head, _, rest = name.partition("__")
            if head not in self._parameters():
                known = ", ".join(self._parameters())
                raise DataError(f"{type(self).__name__} has no parameter {head!r}; it has: {known}")
            if rest:
                getattr(self, head).set_params(**{rest: value})
            else:
                setattr(self, name, value)
        return self

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)
        if name[0] != "_" and name[-1] != "_":  # a parameter must be checked again
            vars(self).pop("_is_checked", None)

    def __repr__(self) -> str:
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, default in self._parameters().items()
            if not _same(getattr(self, name), default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def get_metadata_routing(self) -> MetadataRequest:
        """Tell scikit-learn what to route: `qid`, and groups and weights if requested."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = getattr(self, "_metadata_request", None)  # clone() copies this name
        if request is None:
            request = MetadataRequest(owner=self)
            for method in filter(lambda name: hasattr(self, name), _ROUTED):
                for name in inspect.signature(getattr(self, method)).parameters:
                    if name in _METADATA:
                        alias = True if name == "qid" else None
                        getattr(request, method).add_request(param=name, alias=alias)
            # a Pipeline passes sample_weight=None to `score` even if nobody gave weights
            request.score.add_request(param="sample_weight", alias=None)
        return copy.deepcopy(request)

    def set_fit_request(self, **wanted: object) -> Self:
        """Choose what scikit-learn routes to `fit`, for example `qid=True`."""
        return self._set_request("fit", wanted)

    def set_partial_fit_request(self, **wanted: object) -> Self:
        """Choose what scikit-learn routes to `partial_fit`."""
        return self._set_request("partial_fit", wanted)

    def set_predict_request(self, **wanted: object) -> Self:
        """Choose what scikit-learn routes to `predict`."""
        return self._set_request("predict", wanted)

    def set_score_request(self, **wanted: object) -> Self:
        """Choose what scikit-learn routes to `score`."""
        return self._set_request("score", wanted)

    def _set_request(self, method: str, wanted: dict[str, object]) -> Self:
        request = self.get_metadata_routing()
        for name, alias in wanted.items():
            getattr(request, method).add_request(param=name, alias=alias)
        self._metadata_request = request
        return self

    def _is_sparse_taken(self) -> bool:
        """Return whether sparse rows are accepted; transformers make them dense."""
        return True

    def _is_nan_taken(self) -> bool:
        """Return whether NaN values are accepted as missing."""
        return False

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn which input this estimator accepts."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=True),
            input_tags=InputTags(sparse=self._is_sparse_taken(), allow_nan=self._is_nan_taken()),
            requires_fit=True,
        )


def _same(value: object, default: object) -> bool:
    """Return whether a parameter has its default value; files turn tuples into lists."""
    if isinstance(value, list | tuple) and isinstance(default, list | tuple):
        return list(value) == list(default)
    return bool(value is default or value == default)
