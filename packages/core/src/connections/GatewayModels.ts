import type { Outbound } from "@reins/machine/outbound/Outbound"
import { Effect } from "effect"
import { type Gateway, type ListedModel, type ListedModels, listModels, modelsOf } from "./GatewayClient.js"

/** The most pages of a list that are read. */
const mostPages = 10

/**
 * The models of the first page of a list and of those after it, each once. A page that cannot be read ends the list: what was read before is what the
 * gateway lists.
 */
export const allModels = Effect.fnUntraced(function* (
  gateway: Gateway,
  first: ListedModels,
  outbound: Outbound["Type"]
): Effect.fn.Return<ReadonlyArray<ListedModel>> {
  const models = new Map(first.models.map((model) => [model.id, model]))
  const places = new Set<string>()
  let { next } = first
  while (next !== null && !places.has(next) && places.size < mostPages - 1) {
    places.add(next)
    const { request, url } = listModels(gateway, next)
    const answer = yield* Effect.option(outbound.fetch(url, request))
    const page =
      answer._tag === "Some" && answer.value.status === 200 ? modelsOf(gateway, answer.value.body) : undefined
    for (const model of page?.models ?? []) if (!models.has(model.id)) models.set(model.id, model)
    next = page?.next ?? null
  }
  return [...models.values()]
})
