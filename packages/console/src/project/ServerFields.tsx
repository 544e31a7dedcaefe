import type { Connection, ProjectSecret, ProjectServer } from "@reins/client"
import { Field } from "../ui/Basics.js"
import { HeaderFields } from "./HeaderFields.js"
import { ConnectionField } from "./ServerConnection.js"
import { filled, type SpecProps } from "./Spec.js"

/** The servers of the Model Context Protocol whose tools agents are offered. */
export const ServerFields = ({
  connections,
  put,
  secrets,
  spec: { tools }
}: SpecProps & {
  readonly connections: ReadonlyArray<Connection>
  readonly secrets: ReadonlyArray<ProjectSecret>
}) => {
  const servers = tools?.mcp_servers ?? []
  const set = (next: ReadonlyArray<ProjectServer>) => put({ tools: filled({ ...tools, mcp_servers: next }) })
  return (
    <fieldset class="part">
      <legend>MCP servers</legend>
      <p class="fine">
        Agents are offered the tools that you name. Reins calls the servers, so no agent has their keys.
      </p>
      {servers.map((server, at) => (
        <fieldset class="server" key={`${servers.length}.${at}`} aria-label={`Server ${server.name || at + 1}`}>
          <AddressFields
            server={server}
            change={(next) => set(servers.map((each, place) => (place === at ? next : each)))}
            remove={() => set(servers.filter((_, place) => place !== at))}
          />
          <ToolFields
            server={server}
            change={(next) => set(servers.map((each, place) => (place === at ? next : each)))}
          />
          {commandOf(server) === undefined && (
            <>
              <ConnectionField
                server={server}
                connections={connections}
                change={(next) => set(servers.map((each, place) => (place === at ? next : each)))}
              />
              <HeaderFields
                server={server}
                secrets={secrets}
                change={(next) => set(servers.map((each, place) => (place === at ? next : each)))}
              />
            </>
          )}
        </fieldset>
      ))}
      <button
        type="button"
        class="small"
        disabled={servers.length >= 20}
        onClick={() => set([...servers, { name: "", url: "", allow: [""] }])}
      >
        Add a server
      </button>
    </fieldset>
  )
}

/** The command of a server that is a program, for people to read. */
const commandOf = ({ command }: ProjectServer): string | undefined => command?.join(" ")

interface ServerProps {
  readonly server: ProjectServer
  readonly change: (server: ProjectServer) => void
}

const AddressFields = ({ change, remove, server }: ServerProps & { readonly remove: () => void }) => (
  <div class="spec-row address">
    <Field label="Server name">
      <input
        class="code"
        required
        pattern="[a-z][a-z0-9_]{0,15}"
        title="A small letter, then at most 15 small letters, digits and _"
        spellcheck={false}
        value={server.name}
        onInput={({ currentTarget }) => change({ ...server, name: currentTarget.value })}
      />
    </Field>
    {commandOf(server) === undefined ? (
      <Field label="Address">
        <input
          class="code"
          type="url"
          required
          maxLength={2000}
          placeholder="https://mcp.example/mcp"
          value={server.url ?? ""}
          onInput={({ currentTarget }) => change({ ...server, url: currentTarget.value })}
        />
      </Field>
    ) : (
      <Field label="Command">
        <input class="code" readOnly value={commandOf(server)} />
      </Field>
    )}
    <button type="button" class="icon" aria-label={`Leave out the server ${server.name}`} onClick={remove}>
      ×
    </button>
  </div>
)

/** The server with another list of tools. Rules and pins of tools that are not in it go. */
const withTools = (server: ProjectServer, allow: ReadonlyArray<string>, asking: ReadonlySet<string>): ProjectServer => {
  const { permissions: _, pins: __, ...rest } = server
  const permissions = filled(Object.fromEntries(allow.flatMap((name) => (asking.has(name) ? [[name, "ask"]] : []))))
  const pins = filled(Object.fromEntries(Object.entries(server.pins ?? {}).filter(([name]) => allow.includes(name))))
  // Boundary: the values of the rules are those of the line above.
  return { ...rest, allow, ...(permissions && { permissions }), ...(pins && { pins }) } as ProjectServer
}

const ToolFields = ({ change, server }: ServerProps) => {
  const { allow, permissions } = server
  const asking = new Set(allow.filter((name) => permissions?.[name] === "ask"))
  const rename = (at: number, from: string, to: string) => {
    const next = new Set([...asking].map((name) => (name === from ? to : name)))
    change(
      withTools(
        server,
        allow.map((name, place) => (place === at ? to : name)),
        next
      )
    )
  }
  const setRule = (name: string, isAsking: boolean) => {
    const others = [...asking].filter((each) => each !== name)
    change(withTools(server, allow, new Set(isAsking ? [...others, name] : others)))
  }
  return (
    <>
      {allow.map((name, at) => (
        <div class="spec-row tool" key={`${allow.length}.${at}`}>
          <Field label="Tool">
            <input
              class="code"
              required
              pattern="[A-Za-z][A-Za-z0-9_\-]{0,39}"
              title="A letter, then at most 39 letters, digits, _ and -"
              spellcheck={false}
              value={name}
              onInput={({ currentTarget }) => rename(at, name, currentTarget.value)}
            />
          </Field>
          <Field label="Calls">
            <select
              value={asking.has(name) ? "ask" : "allow"}
              onChange={({ currentTarget }) => setRule(name, currentTarget.value === "ask")}
            >
              <option value="allow">run at once</option>
              <option value="ask">ask people first</option>
            </select>
          </Field>
          <button
            type="button"
            class="icon"
            aria-label={`Leave out the tool ${name}`}
            disabled={allow.length === 1}
            onClick={() =>
              change(
                withTools(
                  server,
                  allow.filter((_, place) => place !== at),
                  asking
                )
              )
            }
          >
            ×
          </button>
        </div>
      ))}
      <button type="button" class="small" onClick={() => change({ ...server, allow: [...allow, ""] })}>
        Add a tool
      </button>{" "}
    </>
  )
}
