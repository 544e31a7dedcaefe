import { assert, it } from "@effect/vitest"
import { ProjectServers } from "@reins/core/projects/ProjectServer"
import { Either, ParseResult, Schema } from "effect"

const decode = Schema.decodeUnknownEither(ProjectServers, { errors: "all", onExcessProperty: "error" })

const server = (more: object = {}) => ({ name: "lab", url: "https://lab.example/mcp", allow: ["look"], ...more })

const program = (more: object = {}) => ({
  name: "lab",
  command: ["npx", "-y", "docs-mcp@1.4.2"],
  allow: ["look"],
  ...more
})

const connection = "con_01k0000000000000000000000a"

const variable = { name: "A", value: "b" }

const placesOf = (servers: unknown) =>
  Either.match(decode(servers), {
    onRight: () => [],
    onLeft: ({ issue }) => [
      ...new Set(ParseResult.ArrayFormatter.formatIssueSync(issue).map(({ path }) => path.join(".")))
    ]
  })

const many = (count: number) => Array.from({ length: count }, (_, index) => `tool_${index}`)

const refused: ReadonlyArray<readonly [string, unknown, string]> = [
  ["the name of the service's own server", [server({ name: "reins" })], "0.name"],
  ["a name with a capital", [server({ name: "Lab" })], "0.name"],
  ["a name of 17 characters", [server({ name: "a".repeat(17) })], "0.name"],
  ["a name twice", [server(), server()], "1.name"],
  ["a URL with a password", [server({ url: "https://a:b@lab.example/" })], "0.url"],
  ["a URL of a file", [server({ url: "file:///etc/passwd" })], "0.url"],
  ["no tool", [server({ allow: [] })], "0.allow"],
  ["a tool twice", [server({ allow: ["look", "look"] })], "0.allow"],
  ["a tool with a space", [server({ allow: ["look up"] })], "0.allow.0"],
  ["a tool of 129 characters", [server({ allow: ["a".repeat(129)] })], "0.allow.0"],
  ["a tool with a comma", [server({ allow: ["a,b"] })], "0.allow.0"],
  ["a tool of another alphabet", [server({ allow: ["名前"] })], "0.allow.0"],
  ["a tool without a name", [server({ allow: [""] })], "0.allow.0"],
  ["a permission of another tool", [server({ permissions: { other: "ask" } })], "0.permissions.other"],
  ["another permission", [server({ permissions: { look: "maybe" } })], "0.permissions.look"],
  ["a pin that is no digest", [server({ pins: { look: "abc" } })], "0.pins.look"],
  ["a pin of another tool", [server({ pins: { other: `sha256:${"0".repeat(64)}` } })], "0.pins.other"],
  ["a header of the connection", [server({ headers: { Host: { secret: "KEY" } } })], "0.headers.Host"],
  [
    "a header of the protocol",
    [server({ headers: { "Mcp-Session-Id": { secret: "K" } } })],
    "0.headers.Mcp-Session-Id"
  ],
  ["a header with a space", [server({ headers: { "a b": { secret: "KEY" } } })], "0.headers.a b"],
  ["a header with its value", [server({ headers: { A: { value: "x" } } })], "0.headers.A.value"],
  ["a server of over 256 tools", [server({ allow: many(257) })], "0.allow"],
  ["over 50 servers", Array.from({ length: 51 }, (_, index) => server({ name: `lab${index}` })), ""],
  ["a command beside a URL", [server({ command: ["npx"] })], "0.command"],
  ["neither of them", [{ name: "lab", allow: ["look"] }], "0.url"],
  ["an empty command", [program({ command: [] })], "0.command"],
  ["a word with a NUL", [program({ command: ["a\0b"] })], "0.command.0"],
  ["headers of a program", [program({ headers: { A: { secret: "KEY" } } })], "0.headers"],
  ["variables of an address", [server({ environment: [{ name: "A", value: "b" }] })], "0.environment"],
  ["a connection of a program", [program({ connection_id: connection })], "0.connection_id"],
  ["a connection that is no id", [server({ connection_id: "mine" })], "0.connection_id"],
  [
    "a header that the connection sets",
    [server({ connection_id: connection, headers: { authorization: { secret: "KEY" } } })],
    "0.headers.authorization"
  ],
  ["a network of an address", [server({ network: "none" })], "0.network"],
  ["a reserved variable", [program({ environment: [{ name: "LD_PRELOAD", value: "b" }] })], "0.environment.0.name"],
  ["a variable twice", [program({ environment: [variable, variable] })], "0.environment.1.name"],
  ["a variable with both", [program({ environment: [{ ...variable, secret: "KEY" }] })], "0.environment.0"],
  ["a host with a scheme", [program({ network: ["https://a.example"] })], "0.network"]
]

for (const [what, servers, place] of refused)
  it(`${what} is refused at its place`, () => {
    assert.include(placesOf(servers), place)
  })

it("servers with all that they may have are taken", () => {
  const headers = { Authorization: { secret: "KEY", prefix: "Bearer " } }
  const pins = { look: `sha256:${"0".repeat(64)}` }
  assert.deepStrictEqual(placesOf([server({ headers, permissions: { look: "ask" }, pins })]), [])
  const environment = [variable, { name: "KEY", secret: "KEY" }]
  assert.deepStrictEqual(placesOf([program({ environment, network: ["api.docs.example"], pins })]), [])
})
