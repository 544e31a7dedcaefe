import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Api } from "@reins/core/api/Api"
import { Installed } from "@reins/core/catalog/Installed"
import { ConnectionKinds } from "@reins/core/connections/ConnectionKinds"
import { Event, eventPayloads, eventTypes } from "@reins/core/domain/Event"
import { MessageDelta } from "@reins/core/domain/Message"
import { errorKinds } from "@reins/core/domain/ReinsError"
import { Executors } from "@reins/core/executor/Executors"
import { Forges } from "@reins/core/forge/Forges"
import { Manifests } from "@reins/core/harness/Manifests"
import { Outbound } from "@reins/core/outbound/Outbound"
import { Placement } from "@reins/core/placement/Placement"
import { documentOf } from "@reins/server/http/openapi/OpenApiDocument"
import { Effect, Layer, Schema } from "effect"
import { pascal } from "./Words.js"

/** A schema of the document, as far as its keywords are read here. */
export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string | ReadonlyArray<string>
  readonly enum?: ReadonlyArray<unknown>
  readonly const?: unknown
  readonly anyOf?: ReadonlyArray<JsonSchema>
  readonly oneOf?: ReadonlyArray<JsonSchema>
  readonly allOf?: ReadonlyArray<JsonSchema>
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: boolean | JsonSchema
  readonly pattern?: string
  readonly default?: unknown
  readonly description?: string
  readonly deprecated?: boolean
}

interface Media {
  readonly schema: JsonSchema
  readonly example?: unknown
}

/** What an operation of the document says that a client needs. */
export interface Described {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly parameters: ReadonlyArray<{
    readonly name: string
    readonly in: string
    readonly required: boolean
    readonly description?: string
    readonly schema: JsonSchema
  }>
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>>
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

const [firstType, ...otherTypes] = eventTypes.map((type) =>
  Schema.Struct({ ...Event.fields, type: Schema.Literal(type), payload: eventPayloads[type] }).annotations({
    identifier: `${pascal(type)}Event`
  })
)
if (firstType === undefined) throw new Error("There are no events")

/** What the operations do not name by themselves: what comes over an event stream, and the codes of errors. */
const unnamed = Schema.Struct({
  event: Schema.Union(firstType, ...otherTypes).annotations({ identifier: "TypedEvent" }),
  delta: MessageDelta,
  code: Schema.Literal(...Object.keys(errorKinds)).annotations({ identifier: "ErrorCode" })
})
const unnamedPath = "/unnamed"
const described = Api.add(HttpApiGroup.make("unnamed").add(HttpApiEndpoint.get("all", unnamedPath).addSuccess(unnamed)))

const installedLayer = Installed.layer.pipe(
  Layer.provide(ConnectionKinds.layer),
  Layer.provide([Executors.layer, Forges.layer, Manifests.layer]),
  Layer.provide([Outbound.layerWith({ allowPrivateHosts: [] }), Placement.layerSingle])
)

const installed = await Effect.runPromise(Effect.provide(Installed, installedLayer))

/** The lists of names that another installation may have others in. */
export const openLists: ReadonlyArray<ReadonlyArray<string>> = Object.values(installed.lists)

// Boundary: the server writes the document for every reader of OpenAPI, without types.
const { components, paths } = documentOf(described, installed) as unknown as Document

/** The document of a server with all that is part of Reins, and the schemas that no operation names. */
export const document: Document = {
  components: {
    schemas: {
      ...components.schemas,
      Event: { $ref: "#/components/schemas/TypedEvent", description: "One fact of a session." }
    }
  },
  paths: Object.fromEntries(Object.entries(paths).filter(([path]) => path !== unnamedPath))
}
