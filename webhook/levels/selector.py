"""Label selectors, with Kubernetes' meaning."""

from collections.abc import Mapping
from typing import Literal

from pydantic import ConfigDict, Field, model_validator

from webhook.levels.groups import Group
from webhook.levels.values import LabelKey, LabelValue, Many


class Requirement(Group):
    """One line of `matchExpressions` (Kubernetes: LabelSelectorRequirement)."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"operator": {"enum": ["In", "NotIn"]}}},
            "then": {"required": ["values"], "properties": {"values": {"minItems": 1}}},
            "else": {"properties": {"values": {"maxItems": 0}}},
        }
    )

    key: LabelKey = Field(description="label key")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = Field(description="how the label is compared")
    values: Many[LabelValue] = Field(default=(), description="what In and NotIn compare with")

    @model_validator(mode="after")
    def _has_its_values(self) -> "Requirement":
        if self.operator in {"In", "NotIn"} and not self.values:
            raise ValueError(f"operator {self.operator} needs values; list at least one")
        if self.operator in {"Exists", "DoesNotExist"} and self.values:
            raise ValueError(f"operator {self.operator} takes no values; remove them")
        return self

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether ``labels`` fulfil it; a missing label is not in any list."""
        match self.operator:
            case "In":
                return labels.get(self.key) in self.values
            case "NotIn":
                return labels.get(self.key) not in self.values
            case "Exists":
                return self.key in labels
            case "DoesNotExist":
                return self.key not in labels


class Labels(Group):
    """Labels that must be there; none means everything."""

    match_labels: dict[LabelKey, LabelValue] = Field(default={}, description="labels with their values")


class Selector(Labels):
    """What labels must fulfil (Kubernetes: LabelSelector); an empty one means everything."""

    match_expressions: Many[Requirement] = Field(default=(), description="further requirements, all of them")

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether ``labels`` fulfil all of it."""
        return self.match_labels.items() <= labels.items() and all(
            requirement.matches(labels) for requirement in self.match_expressions
        )
