import { Boot } from "@reins/base/base/Boot"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { Api } from "@reins/core/Api"
import { Installed } from "@reins/core/catalog/Installed"
import { ConnectionKinds } from "@reins/core/connections/ConnectionKinds"
import { webhookTypes } from "@reins/core/Events"
import { Executors } from "@reins/machine/executor/Executors"
import { Forges } from "@reins/machine/forge/Forges"
import { Manifests } from "@reins/machine/harness/Manifests"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { documentOf } from "@reins/server/http/openapi/OpenApiDocument"
import { Effect, Layer } from "effect"

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

/** The part of an operation of the document that a client needs. */
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
  readonly responses: Readonly<Record<string, Answer>>
}

interface Answer {
  readonly $ref?: string
  readonly content?: Readonly<Record<string, Media>>
}

export interface Document {
  /** The groups of operations, each with what it is about. */
  readonly tags: ReadonlyArray<{ readonly name: string; readonly description: string }>
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly responses: Readonly<Record<string, Answer>>
  }
}

const installedLayer = Installed.layerOf(webhookTypes).pipe(
  Layer.provide(ConnectionKinds.layer),
  Layer.provide([Executors.layer, Forges.layer, Manifests.layer]),
  Layer.provide([
    Outbound.layerWith({ allowPrivateHosts: [] }),
    Boot.layerSingle,
    // The names are the same everywhere, so no executor is tried.
    CoreConfig.layer({ dataDir: "/nonexistent", executors: [] })
  ])
)

const installed = await Effect.runPromise(Effect.provide(Installed, installedLayer))

/** The lists of names that another installation may have others in. */
export const openLists: ReadonlyArray<ReadonlyArray<string>> = Object.values(installed.lists)

// Boundary: the server writes the document for every reader of OpenAPI, without types.
/** The document of a server with all that is part of Reins. */
export const document = documentOf(Api, installed) as unknown as Document
