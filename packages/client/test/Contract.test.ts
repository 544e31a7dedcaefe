import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { errorKinds } from "@reins/base/domain/ReinsError"
import { Api } from "@reins/core/Api"
import { errorCategories, errorCodes } from "../src/generated/Routes.js"
import {
  type ErrorCode,
  type List,
  type Message,
  type MessageList,
  type Page,
  Reins,
  type ReinsOptions,
  type RequestOptions,
  type Session,
  type SessionInput,
  type Turn,
  type TurnSnapshot,
  type TypedEvent
} from "../src/index.js"
import { methodsBy, type Route, routeOf, targetOf } from "../src/Route.js"

const routes: Array<Route> = []
methodsBy((route) => routes.push(route))

const endpoints = Object.values(Api.groups).flatMap((group) =>
  Object.values(group.endpoints).map((endpoint) => ({ ...endpoint, group: group.identifier }))
)

describe("Contract", () => {
  it("the table has every endpoint of the contract, and nothing else", () => {
    const ofTable = routes.map(({ method, name, path }) => `${name} ${method} ${path}`)
    const ofContract = endpoints.map(
      ({ group, method, name, path }) => `${group}.${name} ${method} ${path.replace(/:(\w+)/g, "{$1}")}`
    )
    assert.sameMembers(ofTable, ofContract)
    assert.sameMembers([...errorCodes], Object.keys(errorKinds))
    assert.sameMembers([...errorCategories], [...new Set(Object.values(errorKinds).map(({ category }) => category))])
  })

  it("every endpoint is a method of the client", () => {
    const reins = new Reins({ baseUrl: "http://127.0.0.1" })
    const names = Object.entries(reins).flatMap(([group, methods]) =>
      Object.keys(methods).map((name) => `${group}.${name}`)
    )
    assert.includeMembers(
      names,
      routes.map(({ name }) => name)
    )
  })

  it("sorts the input into path, query and body and encodes each", () => {
    assert.deepStrictEqual(targetOf(routeOf("messages", "send"), { session_id: "a/b?c#d é", content: "x" }), {
      pathAndQuery: "/api/sessions/a%2Fb%3Fc%23d%20%C3%A9/messages",
      body: `{"content":"x"}`
    })
    const diff = { changeset_id: "c", path: "a b&c.ts", context: 3, cursor: undefined }
    assert.deepStrictEqual(targetOf(routeOf("changesets", "getDiff"), diff), {
      pathAndQuery: "/api/changesets/c/diff?path=a+b%26c.ts&context=3",
      body: undefined
    })
    assert.strictEqual(targetOf(routeOf("turns", "cancel"), { turn_id: "t" }).body, undefined)
    for (const session_id of [undefined, null, "", ".", "..", 7]) {
      assert.throws(() => targetOf(routeOf("sessions", "get"), { session_id }), TypeError, "session_id")
    }
  })

  it("the types of the methods follow the contract", () => {
    type Client = Reins
    expectTypeOf<ConstructorParameters<typeof Reins>>().toEqualTypeOf<[options: ReinsOptions]>()
    expectTypeOf<Client["sessions"]["get"]>().toExtend<
      (input: { readonly session_id: string }, options?: RequestOptions) => Promise<Session>
    >()
    expectTypeOf<Client["messages"]["list"]>().toExtend<
      (
        input: { readonly session_id: string; readonly limit?: number; readonly cursor?: string },
        options?: RequestOptions
      ) => List<MessageList, Message>
    >()
    expectTypeOf<Awaited<ReturnType<Client["messages"]["list"]>>>().toExtend<Page<Message>>()
    expectTypeOf<Client["accounts"]["logout"]>().returns.resolves.toEqualTypeOf<void>()
    expectTypeOf<Client["turns"]["cancel"]>().returns.resolves.toEqualTypeOf<Turn>()
    expectTypeOf<[]>().toExtend<Parameters<Client["workspaces"]["list"]>>()
    expectTypeOf<[]>().not.toExtend<Parameters<Client["sessions"]["get"]>>()
    expectTypeOf<[{ session_id: string }]>().not.toExtend<Parameters<Client["messages"]["send"]>>()
    expectTypeOf<[{ session_id: string; content: string }]>().toExtend<Parameters<Client["messages"]["send"]>>()
    expectTypeOf<[{ session_id: string; after: number }]>().toExtend<Parameters<Client["sessions"]["listEvents"]>>()
    // A query parameter without a default is required.
    expectTypeOf<[{ session_id: string }]>().not.toExtend<Parameters<Client["sessions"]["getFile"]>>()
    expectTypeOf<[{ session_id: string; path: string }]>().toExtend<Parameters<Client["sessions"]["getFile"]>>()
  })

  it("ids are plain strings in an input, and tell their kind in an answer", () => {
    expectTypeOf<SessionInput["project_id"]>().toEqualTypeOf<string | null | undefined>()
    expectTypeOf<Session["id"]>().toExtend<string>()
    expectTypeOf<string>().not.toExtend<Session["id"]>()
    expectTypeOf<Turn["id"]>().not.toExtend<Session["id"]>()
  })

  it("what varies is a union that a switch can tell apart", () => {
    type Of<T extends TypedEvent["type"]> = Extract<TypedEvent, { readonly type: T }>["payload"]
    expectTypeOf<Of<"turn.succeeded">["turn"]>().toEqualTypeOf<TurnSnapshot>()
    expectTypeOf<Of<"message.completed">["message"]>().toEqualTypeOf<Message>()
    expectTypeOf<Of<"tool.completed">["title"]>().toEqualTypeOf<string>()
    type Part = Of<"message.part_added">["part"]
    expectTypeOf<Extract<Part, { readonly kind: "text" | "reasoning" }>["content"]>().toEqualTypeOf<string>()
    expectTypeOf<Extract<Message["content"][number], { type: "text" }>["text"]>().toEqualTypeOf<string>()
    expectTypeOf<Extract<Message["content"][number], { type: "file" }>["path"]>().toEqualTypeOf<string>()
    expectTypeOf<ErrorCode>().toEqualTypeOf<keyof typeof errorKinds>()
  })
})
