import { fn } from "@reins/base/base/Traced"
import type { ConnectionId, CredentialId, WorkspaceId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { now, type Timestamp } from "@reins/base/domain/Timestamp"
import { Manifests } from "@reins/machine/harness/Manifests"
import { Outbound, type OutboundError } from "@reins/machine/outbound/Outbound"
import { Cache, Context, Data, Duration, Effect, Fiber, Layer } from "effect"
import { ConnectionKinds } from "../connections/ConnectionKinds.js"
import { ConnectionStore, type Unopenable } from "../connections/ConnectionStore.js"
import { Connections } from "../connections/Connections.js"
import { gatewayOf, type ListedModel, listModels, modelsOf, statusOf } from "../connections/GatewayClient.js"
import { allModels } from "../connections/GatewayModels.js"
import { Workspaces } from "../identity/Workspaces.js"
import type { ModelList, ModelQuery } from "./CatalogApi.js"
import { connectionRequired, Providers, takes } from "./Providers.js"

/** The time that a list of models is kept. A new credential version has a list of its own. */
const freshFor = Duration.minutes(5)

/** The connection or its gateway gives no list of models. */
type Undiscovered = Unopenable | ReinsError<"upstream_error" | "upstream_timeout">

/** The refusals of a request for models. */
export type ModelsRefused = Undiscovered | ReinsError<"provider_disabled" | "unsupported_capability">

/** The models that the gateways of a workspace's connections list. */
export class Models extends Context.Tag("@reins/core/catalog/Models")<
  Models,
  {
    /**
     * The models that a connection lists: the named one, else the newest active one of the provider's kind. The list is at most five minutes
     * old, and callers at the same time share one request. Fails with `not_found` for a connection of another workspace, with
     * `provider_disabled`, with `unsupported_capability` unless the provider supports `model_discovery`, with `connection_required`, with
     * `credential_invalid` when the gateway refuses the key, and with `upstream_error` or `upstream_timeout` when the gateway gives no list.
     */
    readonly list: (principal: Principal, query: ModelQuery) => Effect.Effect<ModelList, ModelsRefused>
  }
>() {
  static readonly layer = Layer.scoped(
    Models,
    Effect.gen(function* () {
      const connections = yield* Connections
      const store = yield* ConnectionStore
      const connectionKinds = yield* ConnectionKinds
      const manifests = yield* Manifests
      const outbound = yield* Outbound
      const providers = yield* Providers
      const workspaces = yield* Workspaces
      const scope = yield* Effect.scope

      const discover = Effect.fnUntraced(function* (key: ListingKey): Effect.fn.Return<Listing, Undiscovered> {
        const provider = manifests.list.find((each) => each.provider_id === key.providerId)
        const connection = yield* store.open(key.workspaceId, key.connectionId)
        const kind = connectionKinds.find(connection.kind)
        const gateway = gatewayOf(kind, connection, provider?.credential?.default_base_url)
        if (gateway === undefined)
          return yield* failed(key, "The connection has no API key to ask a gateway with.", null)
        const { name, request, url } = listModels(gateway)
        const answer = yield* Effect.mapError(outbound.fetch(url, request), (error) => unanswered(key, error))
        const status = statusOf(gateway, answer)
        if (status === 401 || status === 403) return yield* refused(key, answer.status)
        const listed = answer.status === 200 ? modelsOf(gateway, answer.body) : undefined
        if (listed === undefined) {
          const message = `The gateway does not list its models: ${name} answered ${answer.status}. Check the connection's base_url.`
          return yield* failed(key, message, answer.status)
        }
        return { models: yield* allModels(gateway, listed, outbound), observedAt: yield* now }
      })

      // A fiber of its own asks the gateway, so that a caller that leaves does not interrupt the others that wait for the list.
      const listings: Cache.Cache<ListingKey, Fiber.RuntimeFiber<Listing, Undiscovered>> = yield* Cache.make({
        capacity: 1000,
        timeToLive: freshFor,
        lookup: (key: ListingKey) =>
          discover(key).pipe(
            Effect.onError(() => listings.invalidate(key)),
            Effect.forkIn(scope)
          )
      })

      return Models.of({
        list: fn("Models.list")(function* (
          principal,
          { connection_id: named, provider_id: providerId = providers.defaultId, workspace_id: given }
        ) {
          const wanted = named === undefined ? undefined : yield* connections.get(principal, named)
          const workspaceId = given ?? wanted?.workspace_id ?? (yield* workspaces.defaultFor(principal))
          const workspace = yield* workspaces.get(principal, workspaceId)
          yield* providers.requireCapability(providerId, "model_discovery")
          const manifest = yield* providers.requireEnabled(providerId)
          if (wanted !== undefined && !takes(manifest, wanted)) return yield* connectionRequired(manifest)
          const chosen = yield* providers.chooseConnection(
            workspace.id,
            manifest,
            wanted === undefined ? [] : [wanted.id]
          )
          if (chosen === null) return yield* connectionRequired(manifest)
          const connectionId = chosen.id
          const { credential } = yield* connections.get(principal, connectionId)
          if (credential === null) return yield* connectionRequired(manifest)
          const { models, observedAt } = yield* Effect.flatMap(
            listings.get(
              new ListingKey({ workspaceId: workspace.id, connectionId, credentialId: credential.id, providerId })
            ),
            Fiber.join
          )
          return {
            items: models.map(({ contextWindow, displayName, id }) => ({
              id,
              provider_id: providerId,
              connection_id: connectionId,
              display_name: displayName,
              context_window: contextWindow
            })),
            observed_at: observedAt
          }
        })
      })
    })
  )
}

class ListingKey extends Data.Class<{
  readonly workspaceId: WorkspaceId
  readonly connectionId: ConnectionId
  readonly credentialId: CredentialId
  readonly providerId: string
}> {}

interface Listing {
  readonly models: ReadonlyArray<ListedModel>
  readonly observedAt: Timestamp
}

const failed = ({ connectionId }: ListingKey, message: string, status: number | null) =>
  new ReinsError({ code: "upstream_error", message, details: { connection_id: connectionId, status } })

const refused = ({ connectionId }: ListingKey, status: number) =>
  new ReinsError({
    code: "credential_invalid",
    message: `The gateway refuses the key of the connection: GET /models answered ${status}. Post a new credential version.`,
    details: { connection_id: connectionId, status }
  })

const unanswered = ({ connectionId }: ListingKey, { kind, message }: OutboundError) =>
  new ReinsError({
    code: kind === "timeout" ? "upstream_timeout" : "upstream_error",
    message: `The gateway cannot be asked for its models. ${message}`,
    details: { connection_id: connectionId, reason: kind }
  })
