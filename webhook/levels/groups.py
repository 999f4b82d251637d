"""What every mapping of the policy file has in common."""

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, field_validator
from pydantic.alias_generators import to_camel


class Group(BaseModel):
    """A mapping of the file: no key that it does not know, no value of another type, nothing left empty."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", alias_generator=to_camel)

    @field_validator("*", mode="before")
    @classmethod
    def _not_empty(cls, value: object) -> object:
        if value is None:
            raise ValueError("write a value, or remove the key")
        return value


Same = TypeVar("Same", bound=Group)


def sound(group: Same, wrong: list[str]) -> Same:
    """Return ``group`` if nothing is wrong with it.

    Raises:
        ValueError: something is; the text says all of it.
    """
    if wrong:
        raise ValueError("; ".join(wrong))
    return group


def one_of(*keys: str) -> dict[str, Any]:
    """JSON Schema for a mapping that needs at least one of ``keys``."""
    return {"anyOf": [{"required": [key]} for key in keys]}
