import { field } from "@reins/base/domain/Field"
import { ConnectionId } from "@reins/base/domain/Ids"
import { NetworkAccess } from "@reins/base/domain/NetworkAccess"
import { Schema } from "effect"
import { environmentValue, SecretName, VariableName } from "./ProjectSetup.js"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true, nullable: true })

/** The bounds of the contract. An operator sets lower ones, which `ServerQuota` keeps. */
const maxServers = 50
const maxTools = 256

const maxHeaders = 20

/** The name of the server that has the tools of the service. */
const ownServer = "reins"

const ServerName = Schema.String.pipe(
  Schema.pattern(/^[a-z][a-z0-9_]{0,15}$/),
  Schema.filter((name) => name !== ownServer, {
    message: () => `Input should be another name: ${ownServer} is the server of the service itself`
  })
)

/** The names that the protocol has, and the two more characters that servers put between the parts of a name. */
const ServerToolName = Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9_.:/-]{1,128}$/))

const isServerUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { hash, password, protocol, username } = new URL(text)
  return /^https?:$/.test(protocol) && hash === "" && password === "" && username === ""
}

const ServerUrl = Schema.String.pipe(
  Schema.minLength(1),
  Schema.maxLength(2000),
  Schema.filter(isServerUrl, {
    message: () => "Input should be an https URL without credentials and without a fragment; keys belong in headers"
  })
)

/** Headers that the protocol or the connection sets. */
const keptHeaders =
  /^(?:accept|accept-encoding|connection|content-.*|cookie|expect|host|keep-alive|last-event-id|mcp-.*|origin|proxy-.*|te|trailer|transfer-encoding|upgrade)$/i

const badHeaders = (headers: object) => {
  const names = Object.keys(headers)
  const issues = names.flatMap((name, index) => {
    if (!/^[A-Za-z0-9-]{1,64}$/.test(name)) return [{ path: [name], message: "Input should be the name of a header" }]
    if (keptHeaders.test(name))
      return [{ path: [name], message: "Input should be another header: the connection or the protocol sets this one" }]
    return names.slice(0, index).some((other) => other.toLowerCase() === name.toLowerCase())
      ? [{ path: [name], message: "Input should name each header once" }]
      : []
  })
  return names.length > maxHeaders ? [...issues, { path: [], message: `Input has over ${maxHeaders} headers` }] : issues
}

const HeaderSecret = Schema.Struct({
  secret: field(SecretName, "The name of a secret of the project, whose value the header has."),
  prefix: field(
    optional(Schema.String.pipe(Schema.maxLength(100), Schema.pattern(/^[\x20-\x7e]*$/))),
    "The text before the value, as in `Bearer `; nothing when absent."
  )
}).annotations({ identifier: "HeaderSecret", description: "The value of a header." })

/** No program takes a NUL in its arguments. */
const Word = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(8192), Schema.pattern(/^[^\0]*$/))

const ServerVariable = Schema.Struct({
  name: field(VariableName, "Its name, as variables of a project are named."),
  value: field(optional(environmentValue), "What everybody who may read the project may read. Give this or `secret`."),
  secret: field(optional(SecretName), "The name of a secret of the project, whose value it gets.")
})
  .pipe(
    Schema.filter(({ secret, value }) => (value === undefined) !== (secret === undefined), {
      message: () => "give either a value or a secret"
    })
  )
  .annotations({ identifier: "ServerVariable", description: "A variable of the program of a server." })

const variablesTwice = (variables: ReadonlyArray<{ readonly name: string }>) =>
  variables.flatMap(({ name }, index) =>
    variables.findIndex((variable) => variable.name === name) === index
      ? []
      : [{ path: [index, "name"], message: "Input should name each variable once" }]
  )

export const ServerPermission = Schema.Literal("allow", "ask").annotations({
  description: "`allow` runs a call at once. `ask` asks people before each call."
})
export type ServerPermission = typeof ServerPermission.Type

const Digest = Schema.String.pipe(Schema.pattern(/^sha256:[0-9a-f]{64}$/))

const ofTools = <A, I extends string>(value: Schema.Schema<A, I>) =>
  Schema.Record({ key: Schema.String, value }).pipe(Schema.filter((given) => Object.keys(given).length <= maxTools))

const ServerFields = Schema.Struct({
  name: field(
    ServerName,
    "Its name, which agents put before the names of its tools: a small letter, then at most 15 small letters, digits and `_`."
  ),
  url: field(
    optional(ServerUrl),
    "The https URL of the server, without credentials in it. At most 2,000 characters. Give this or `command`."
  ),
  command: field(
    optional(Schema.Array(Word).pipe(Schema.minItems(1), Schema.maxItems(64))),
    'The program of a server that speaks over its standard input and output, with its arguments and without a shell: `["npx", "-y", "docs-mcp@1.4.2"]`. It runs in a sandbox of its own.'
  ),
  environment: field(
    optional(Schema.Array(ServerVariable).pipe(Schema.maxItems(50), Schema.filter(variablesTwice))),
    "Variables of the program, at most 50. Agents never have them."
  ),
  network: field(optional(NetworkAccess), "The hosts that the program may connect to; none when absent."),
  headers: field(
    optional(Schema.Record({ key: Schema.String, value: HeaderSecret }).pipe(Schema.filter(badHeaders))),
    "Headers of each request to `url`, at most 20. Their values are secrets of the project, and agents never have them."
  ),
  connection_id: field(
    optional(ConnectionId),
    "The connection of the kind `mcp_oauth` whose tokens go with each request to `url`. Its `server_url` is that address."
  ),
  login: field(
    optional(Schema.Literal("person")),
    "`person`: each person logs in to `url`, and a turn uses the login of the person whose message it answers. Give this or `connection_id`."
  ),
  allow: field(
    Schema.Array(ServerToolName).pipe(
      Schema.minItems(1),
      Schema.maxItems(maxTools),
      Schema.filter((names) => new Set(names).size === names.length, {
        message: () => "Input should name each tool once"
      })
    ),
    "The tools of the server that agents are offered, by the names that the server has for them: 1 to 128 letters, digits, `_`, `-`, `.`, `/` and `:`. Others stay hidden."
  ),
  permissions: field(
    optional(ofTools(ServerPermission)),
    "The tools whose calls people are asked for, as `ask`; `allow` for those that are not named."
  ),
  pins: field(
    optional(ofTools(Digest)),
    "The digests of descriptions and schemas that were looked at, by tool. A tool with another digest is not offered. Without one, the first that this version sees is pinned."
  )
})

type Fields = typeof ServerFields.Type

/** The fields of a server that do not go with its address, or with its program. */
const strays = ({ command, connection_id, environment, headers, login, network, url }: Fields) => {
  if ((url === undefined) === (command === undefined))
    return [{ path: [url === undefined ? "url" : "command"], message: "Input should have either a url or a command" }]
  const own = url === undefined ? { headers, connection_id, login } : { environment, network }
  const other = url === undefined ? "a url" : "a command"
  return Object.entries(own).flatMap(([name, value]) =>
    value === undefined ? [] : [{ path: [name], message: `Input should have it with ${other} alone` }]
  )
}

/** The names in a server that are not among its tools. */
const misfits = ({ allow, permissions, pins }: Fields) => {
  const unknown = (place: string, named: object = {}) =>
    Object.keys(named).flatMap((tool) =>
      allow.includes(tool) ? [] : [{ path: [place, tool], message: "Input should be a tool of allow" }]
    )
  return [...unknown("permissions", permissions), ...unknown("pins", pins)]
}

/** Two connections of one server. */
const connectedTwice = ({ connection_id, login }: Fields) =>
  connection_id !== undefined && login !== undefined
    ? [{ path: ["login"], message: "Input should be absent with a connection_id" }]
    : []

/** A header that the connection sets. */
const keyedTwice = ({ connection_id, headers = {}, login }: Fields) =>
  Object.keys(headers).flatMap((name) =>
    (connection_id !== undefined || login !== undefined) && name.toLowerCase() === "authorization"
      ? [{ path: ["headers", name], message: "Input should be another header: the connection sets this one" }]
      : []
  )

export const ProjectServer = ServerFields.pipe(
  Schema.filter((server) => [...strays(server), ...misfits(server), ...keyedTwice(server), ...connectedTwice(server)])
).annotations({
  identifier: "ProjectServer",
  description: "A server of the Model Context Protocol, whose tools agents are offered. The service calls it for them."
})
export type ProjectServer = typeof ProjectServer.Type

const namedTwice = (servers: ReadonlyArray<ProjectServer>) =>
  servers.flatMap(({ name }, index) =>
    servers.findIndex((server) => server.name === name) === index
      ? []
      : [{ path: [index, "name"], message: `Input should be another name: two servers are called ${name}` }]
  )

export const ProjectServers = Schema.Array(ProjectServer).pipe(Schema.maxItems(maxServers), Schema.filter(namedTwice))
