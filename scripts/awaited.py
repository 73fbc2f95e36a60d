"""For the reference: shows what `recollect.aio.awaited` makes of a verb as the method that it is."""

from typing import Any

import griffe


class Awaited(griffe.Extension):
    """Puts an `async def` in the place of each `verb = awaited(Session.verb)`."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Look through the classes of `aio` once the package is read."""
        if pkg.name != "recollect":
            return
        for home in pkg["aio"].classes.values():
            for name, made in home.attributes.items():
                match made.value:
                    case griffe.ExprCall(canonical_path="recollect.aio.awaited", arguments=[griffe.Expr() as verb]):
                        home.set_member(name, _awaited(pkg.modules_collection[verb.canonical_path]))


def _awaited(verb: griffe.Function) -> griffe.Function:
    found = griffe.Function(
        verb.name, parameters=verb.parameters, returns=verb.returns, docstring=verb.docstring, lineno=verb.lineno
    )
    found.labels.add("async")
    return found
