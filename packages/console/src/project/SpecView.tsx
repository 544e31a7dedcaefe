import type { NetworkAccess, ProjectSpec } from "@reins/client"
import type { ComponentChildren } from "preact"
import { agentName } from "../agents/AgentNames.js"
import { bytes, count, plain, shortened } from "../words/Words.js"
import { shortDigest } from "./Skills.js"
import { lineOf } from "./Spec.js"

/** A spec in words, with its JSON below. */
export const SpecView = ({ spec }: { readonly spec: ProjectSpec }) => {
  const lines = linesOf(spec)
  return (
    <>
      {lines.length === 0 ? (
        <p class="fine">Everything is as the server has it by default.</p>
      ) : (
        <dl class="spec">
          {lines.map(([name, words]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{words}</dd>
            </div>
          ))}
        </dl>
      )}
      <details>
        <summary class="fine">JSON</summary>
        <code class="block">{JSON.stringify(spec, null, 2)}</code>
      </details>
    </>
  )
}

const networkWords = (network: NetworkAccess): string =>
  typeof network === "string" ? (network === "open" ? "the public Internet" : "none") : network.join(", ")

/** The first line of a text, or the beginning of it. */
const cut = (text: string): string => {
  const line = text.trim().split("\n")[0] ?? ""
  return line === text.trim() ? shortened(line, 200) : `${shortened(line, 200)} …`
}

const linesOf = (spec: ProjectSpec): ReadonlyArray<readonly [string, ComponentChildren]> => {
  const { connection_ids, delivery, environment, executor, harness, network, permissions, repository, setup } = spec
  const limits = Object.entries(executor?.limits ?? {}).map(
    ([name, value]) => `${plain(name)} ${/bytes/.test(name) ? bytes(Number(value)) : value}`
  )
  const lines: ReadonlyArray<readonly [string, ComponentChildren]> = [
    ["Repository", repository && `${repository.url}${repository.base_ref == null ? "" : ` at ${repository.base_ref}`}`],
    ["Folders", repository?.sparse?.join(", ")],
    ["Agent", harness && [agentName(harness.provider_id), harness.model].filter(Boolean).join(" · ")],
    ["Connections", connection_ids && count(connection_ids.length, "connection")],
    [
      "Setup",
      setup?.map(({ argv, name }) => (
        <span key={name} class="setup-line">
          {name}: <code>{lineOf(argv)}</code>
        </span>
      ))
    ],
    ["Instructions", spec.instructions && cut(spec.instructions)],
    ["Skills", spec.skills?.map(({ digest, name }) => `${name} (${shortDigest(digest)})`).join(", ")],
    ["Network of setup", spec.setup_network && networkWords(spec.setup_network)],
    [
      "Environment",
      environment?.map(({ name, secret }) => (secret == null ? name : `${name} (secret ${secret})`)).join(", ")
    ],
    [
      "MCP servers",
      spec.tools?.mcp_servers?.map(({ allow, name }) => `${name} (${count(allow.length, "tool")})`).join(", ")
    ],
    ["Network", network && networkWords(network)],
    ["Executor", executor && [executor.backend, ...limits].join(", ")],
    [
      "Permissions",
      permissions &&
        [permissions.default, ...Object.entries(permissions.tools ?? {}).map((rule) => rule.join(": "))]
          .filter(Boolean)
          .join(", ")
    ],
    ["Delivery", delivery && [delivery.transport, delivery.branch_prefix].filter(Boolean).join(", ")],
    ["After a crash", spec.auto_acknowledge === true && "the queue goes on by itself"]
  ]
  return lines.filter(([, words]) => words != null && words !== false && words !== "")
}
