"""The order of advisors, the rest of a chain, and the requests that pass through."""

from __future__ import annotations

from typing import Any

import pytest

from threadkeep.chat import ChatClientRequest, InvalidChain, user

from ..async_and_sync import Kit, Way, text_of


async def test_advisors_run_by_order_and_equal_orders_as_given(kit: Kit, way: Way) -> None:
    seen: list[str] = []

    def recording(name: str, order: int) -> Any:
        return kit.advisor(
            name=name, order=order, before=lambda _: seen.append(f"> {name}"), after=lambda _: seen.append(f"< {name}")
        )

    model = kit.ScriptedModel(["hello there"])
    chain = kit.AdvisorChain([recording("b", 5), recording("c", 5), recording("a", -1)], model)
    assert text_of(await way.ask(chain, ChatClientRequest((user("hi"),)))) == "hello there"
    assert seen == ["> a", "> b", "> c", "< c", "< b", "< a"]


async def test_rest_of_chain_can_be_called_repeatedly(kit: Kit, way: Way) -> None:
    inner = kit.advisor(order=2, before=lambda request: request.with_context({"n": request.context.get("n", 0) + 1}))
    outer = kit.advisor(order=1, before=lambda request: request.with_context({"outer": True}))
    chain = kit.AdvisorChain([outer, inner], kit.ScriptedModel(["1", "2", "3"]))
    rest = chain.after(outer)
    for text in ("1", "2"):
        answers = await way.ask(rest, ChatClientRequest((user("hi"),)))
        assert (text_of(answers), dict(answers[-1].context)) == (text, {"n": 1})
    answers = await way.ask(chain, ChatClientRequest((user("hi"),)))
    assert (text_of(answers), dict(answers[-1].context)) == ("3", {"n": 1, "outer": True})


async def test_chain_rejects_duplicate_and_unknown_advisors(kit: Kit) -> None:
    advisor = kit.advisor()
    with pytest.raises(InvalidChain, match="twice"):
        kit.AdvisorChain([advisor, advisor], kit.ScriptedModel())
    with pytest.raises(InvalidChain, match="not in this chain"):
        kit.AdvisorChain([], kit.ScriptedModel()).after(advisor)


async def test_request_is_immutable(kit: Kit, way: Way) -> None:
    given = {"key": 1}
    request = ChatClientRequest((user("hi"),), context=given)
    given["key"] = 2
    [answer, *_] = await way.ask(kit.AdvisorChain([], kit.ScriptedModel(["hello"])), request)
    assert answer.context["key"] == 1
    with pytest.raises(TypeError):
        answer.context["key"] = 3  # type: ignore[index]
