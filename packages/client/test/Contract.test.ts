import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Api } from "@reins/core/api/Api"
import type { SessionInput } from "@reins/core/api/SessionsApi"
import type { Page } from "@reins/core/domain/Page"
import type { ActionableTurn } from "@reins/core/domain/Turn"
import { Option, SchemaAST } from "effect"
import {
  type BodyFields,
  derive,
  type EndpointName,
  type EndpointOf,
  type GroupName,
  type Input,
  type PathParams,
  type QueryParams,
  requiredQuery,
  routes,
  targetOf
} from "../src/Contract.js"
import { type Message, Reins, type ReinsOptions, type RequestOptions, type Session } from "../src/index.js"

type Shared<A, B> = Extract<keyof A, keyof B>
type Collisions = {
  [G in GroupName]: {
    [E in EndpointOf<G> as EndpointName<E>]:
      | Shared<PathParams<E>, QueryParams<E>>
      | Shared<PathParams<E>, BodyFields<E>>
      | Shared<QueryParams<E>, BodyFields<E>>
  }[EndpointName<EndpointOf<G>>]
}[GroupName]

const endpoints = Object.values(Api.groups).flatMap((group) => Object.values(group.endpoints))

describe("Contract", () => {
  it("no endpoint has the same name in path, query and body", () => {
    expectTypeOf<Collisions>().toEqualTypeOf<never>()
    assert.strictEqual(routes.length, endpoints.length)
    for (const route of routes) {
      const names = [...route.pathNames, ...route.queryNames, ...(route.bodyNames ?? [])]
      assert.deepStrictEqual(names, [...new Set(names)], `${route.group}.${route.name}`)
    }
  })

  it("the query parameters that the type of the input requires are those that the contract requires", () => {
    const required = endpoints.flatMap(({ name, urlParamsSchema }) => {
      if (Option.isNone(urlParamsSchema)) return []
      const fields = SchemaAST.getPropertySignatures(SchemaAST.encodedAST(urlParamsSchema.value.ast))
      const names = fields.filter((field) => !field.isOptional).map((field) => String(field.name))
      return names.length === 0 ? [] : [[name, names]]
    })
    assert.deepStrictEqual(Object.fromEntries(required), requiredQuery)
  })

  it("every endpoint is a method of the client", () => {
    const reins = new Reins({ baseUrl: "http://127.0.0.1" })
    const names = new Map(Object.entries(reins).map(([group, methods]) => [group, Object.keys(methods)]))
    for (const route of routes)
      assert.isTrue(names.get(route.group)?.includes(route.name), `${route.group}.${route.name}`)
    const called = derive<Record<string, Record<string, string>>>((route) => `${route.group}.${route.name}`)
    assert.strictEqual(called.sessions?.create, "sessions.create")
  })

  it("sorts the input into path, query and body and encodes each", () => {
    const route = (group: string, name: string) => {
      const found = routes.find((candidate) => candidate.group === group && candidate.name === name)
      assert.isDefined(found)
      return found
    }
    assert.deepStrictEqual(targetOf(route("messages", "send"), { session_id: "a/b?c#d é", content: "x" }), {
      pathAndQuery: "/api/sessions/a%2Fb%3Fc%23d%20%C3%A9/messages",
      body: `{"content":"x"}`
    })
    assert.deepStrictEqual(targetOf(route("changesets", "diff"), { changeset_id: "c", path: "a b&c.ts", context: 3 }), {
      pathAndQuery: "/api/changesets/c/diff?path=a+b%26c.ts&context=3",
      body: undefined
    })
    assert.strictEqual(targetOf(route("turns", "cancel"), { turn_id: "t" }).body, undefined)
    for (const session_id of [undefined, null, "", ".", "..", 7]) {
      assert.throws(() => targetOf(route("sessions", "get"), { session_id }), TypeError, "session_id")
    }
  })

  it("the types of the methods follow the contract", () => {
    type Client = Reins
    expectTypeOf<ConstructorParameters<typeof Reins>>().toEqualTypeOf<[options: ReinsOptions]>()
    expectTypeOf<Client["sessions"]["get"]>().toEqualTypeOf<
      (input: { readonly session_id: string }, options?: RequestOptions) => Promise<Session>
    >()
    expectTypeOf<Client["messages"]["list"]>().toEqualTypeOf<
      (
        input: { readonly session_id: string; readonly limit?: number; readonly cursor?: string },
        options?: RequestOptions
      ) => Promise<{ readonly items: ReadonlyArray<Message>; readonly next_cursor: string | null }>
    >()
    expectTypeOf<Awaited<ReturnType<Client["messages"]["list"]>>>().toExtend<Page<Message>>()
    expectTypeOf<Client["accounts"]["logout"]>().returns.resolves.toEqualTypeOf<void>()
    expectTypeOf<Client["turns"]["cancel"]>().returns.resolves.toEqualTypeOf<ActionableTurn>()
    expectTypeOf<[]>().toExtend<Parameters<Client["workspaces"]["list"]>>()
    expectTypeOf<[]>().not.toExtend<Parameters<Client["sessions"]["get"]>>()
    expectTypeOf<[{ session_id: string }]>().not.toExtend<Parameters<Client["messages"]["send"]>>()
    expectTypeOf<[{ session_id: string; content: string }]>().toExtend<Parameters<Client["messages"]["send"]>>()
    expectTypeOf<[{ session_id: string; after: number }]>().toExtend<Parameters<Client["sessions"]["events"]>>()
  })

  it("ids are plain strings in an input and typed ids in an answer", () => {
    type Create = Input<Extract<EndpointOf<"sessions">, { readonly name: "create" }>>
    expectTypeOf<Create["project_id"]>().toEqualTypeOf<string | undefined>()
    expectTypeOf<SessionInput["project_id"]>().not.toEqualTypeOf<string | undefined>()
    expectTypeOf<Session["id"]>().toExtend<string>()
    expectTypeOf<string>().not.toExtend<Session["id"]>()
  })
})
