import { assert, describe, it } from "@effect/vitest"
import { offeredNames } from "@reins/core/mcp/OfferedNames"
import { ProjectServers } from "@reins/core/projects/ProjectServer"
import { Either, Schema } from "effect"
import * as fc from "fast-check"

const letters = [..."abAB09_-.:/"]
const toolName = fc.string({ unit: fc.constantFrom(...letters), minLength: 1, maxLength: 128 })
const shortName = fc.string({ unit: fc.constantFrom("a", "_", ".", "/"), minLength: 1, maxLength: 4 })
const serverName = fc.stringMatching(/^[ab][ab_]{0,4}$/)
const servers = fc.uniqueArray(
  fc.record({
    name: serverName,
    allow: fc.uniqueArray(fc.oneof(toolName, shortName), { minLength: 1, maxLength: 30 })
  }),
  { selector: ({ name }) => name, minLength: 1, maxLength: 4 }
)

/** The names that agents make of server and tool. */
const joins: ReadonlyArray<(server: string, tool: string) => string> = [
  (server, tool) => `${server}_${tool}`,
  (server, tool) => `mcp__${server}__${tool}`
]

describe("the names under which agents are offered the tools of servers", () => {
  it("are taken by gateways, told apart, and the same at each look", () => {
    fc.assert(
      fc.property(servers, (given) => {
        const nameOf = offeredNames(given)
        const names = given.flatMap(({ allow, name }) => allow.map((tool) => [name, nameOf(name, tool)] as const))
        for (const join of joins) {
          const joined = names.map(([server, tool]) => join(server, tool))
          assert.strictEqual(new Set(joined).size, joined.length)
          for (const name of joined) assert.match(name, /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/)
        }
        assert.deepStrictEqual(
          given.flatMap(({ allow, name }) => allow.map((tool) => offeredNames(given)(name, tool))),
          names.map(([, tool]) => tool)
        )
      })
    )
  })

  it("are those of the server wherever gateways take them", () => {
    const nameOf = offeredNames([
      { name: "work", allow: ["list.all", "list_all", "_private", "get-issue", "a/b", "a:b", "7zip", "x".repeat(41)] }
    ])
    const of = (tool: string) => nameOf("work", tool)
    for (const kept of ["list_all", "_private", "get-issue"]) assert.strictEqual(of(kept), kept)
    assert.strictEqual(of("a/b"), "a_b")
    assert.strictEqual(of("7zip"), "_7zip")
    assert.match(of("list.all"), /^list_all_[0-9a-f]{6}$/)
    assert.match(of("a:b"), /^a_b_[0-9a-f]{6}$/)
    assert.match(of("x".repeat(41)), /^x{33}_[0-9a-f]{6}$/)
    assert.strictEqual(
      offeredNames([{ name: "work", allow: ["calendar.listEvents"] }])("work", "calendar.listEvents"),
      "calendar_listEvents"
    )
  })

  it("are told apart between servers whose names run into those of their tools", () => {
    const nameOf = offeredNames([
      { name: "a", allow: ["b_c"] },
      { name: "a_b", allow: ["c"] }
    ])
    assert.strictEqual(nameOf("a", "b_c"), "b_c")
    assert.notStrictEqual(nameOf("a_b", "c"), "c")
  })

  it("may be any that the protocol has in a project", () => {
    const decode = Schema.decodeUnknownEither(ProjectServers)
    const takes = (allow: ReadonlyArray<string>) =>
      Either.isRight(decode([{ name: "work", url: "https://work.example/mcp", allow }]))
    fc.assert(fc.property(toolName, (name) => assert.isTrue(takes([name]))))
    for (const name of ["", "a b", "a,b", "名前", "a\n", "a".repeat(129)]) assert.isFalse(takes([name]), name)
  })
})
