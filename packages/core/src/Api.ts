import { HttpApi, type HttpApiEndpoint, type HttpApiError, HttpApiGroup, OpenApi } from "@effect/platform"
import { type Contract, contracts } from "./Contracts.js"

/** The version of the contract, which changes with it and not with each release. */
export const apiVersion = "2.0.0"

type Parts = Contract["groups"][number]

/** A group has the endpoints that any room adds to it, as all rooms do whose endpoints are about a session. */
type Whole<Name extends string> = HttpApiGroup.HttpApiGroup<
  Name,
  HttpApiGroup.HttpApiGroup.Endpoints<HttpApiGroup.HttpApiGroup.WithName<Parts, Name>>,
  never
>

type Groups = {
  readonly [Name in HttpApiGroup.HttpApiGroup.Name<Parts>]: Whole<Name>
}[HttpApiGroup.HttpApiGroup.Name<Parts>]

const parts = contracts.flatMap(({ groups }): ReadonlyArray<Parts> => groups)

const whole = (name: string) =>
  parts
    .flatMap(({ endpoints, identifier }) => (identifier === name ? Object.values(endpoints) : []))
    .reduce<HttpApiGroup.HttpApiGroup<string, HttpApiEndpoint.HttpApiEndpoint.Any, never>>(
      (group, endpoint) => group.add(endpoint),
      HttpApiGroup.make(name)
    )

// Boundary: the compiler does not follow that these are the groups of the type.
const groups = [...new Set(parts.map(({ identifier }) => identifier))].map(whole) as unknown as ReadonlyArray<Groups>

/** The whole HTTP contract as data: the routes, the OpenAPI document and the client are made from it. */
export const Api = groups
  .reduce<HttpApi.HttpApi<"reins", Groups, HttpApiError.HttpApiDecodeError>>(
    (api, group) => api.add(group),
    HttpApi.make("reins")
  )
  .annotate(OpenApi.Title, "Reins")
  .annotate(OpenApi.Version, apiVersion)
  .annotate(OpenApi.License, { name: "Apache-2.0" })
