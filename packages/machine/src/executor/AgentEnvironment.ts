import { markVariables } from "@reins/base/base/Mark"
import { Redacted } from "effect"
import type { AgentCommand } from "./Executor.js"

/**
 * The variables that an agent without a sandbox inherits: search path, language, time zone and certificate authorities. The operator's proxies
 * are none of them, because their addresses may hold a password and they lead to hosts that nobody meant for agents.
 */
export const inheritedVariables = [
  "PATH",
  "LANG",
  "LC_ALL",
  "TZ",
  "NODE_EXTRA_CA_CERTS",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR"
]

/** The variables that an agent in a sandbox inherits. Files of the operator's certificates are not in it. */
export const inheritedInSandbox = ["LANG", "LC_ALL", "TZ"]

/** The home of an agent and its temporary directory, at the paths at which it finds them. */
const ownDirectories = (
  command: Pick<AgentCommand, "homeDir" | "seenAt" | "tmpDir">
): Pick<AgentCommand, "homeDir" | "tmpDir"> => {
  const homeDir = command.seenAt?.homeDir ?? command.homeDir
  return { homeDir, tmpDir: `${homeDir}${command.tmpDir.slice(command.homeDir.length)}` }
}

/** The directories that belong to the agent alone, with the variables that name them. */
export const homeVariables = (command: Pick<AgentCommand, "homeDir" | "tmpDir">): Record<string, string> => ({
  HOME: command.homeDir,
  XDG_CONFIG_HOME: `${command.homeDir}/.config`,
  XDG_DATA_HOME: `${command.homeDir}/.local/share`,
  XDG_STATE_HOME: `${command.homeDir}/.local/state`,
  XDG_CACHE_HOME: `${command.homeDir}/.cache`,
  TMPDIR: command.tmpDir
})

/** The whole environment of the agent: what it inherits from the service by these names, what its command gives, its directories and its marks. */
export const environmentOf = (
  command: Pick<AgentCommand, "environment" | "homeDir" | "leaseId" | "seenAt" | "tmpDir">,
  bootId: string,
  inherited: ReadonlyArray<string>
): Record<string, string> => {
  // The gateway of a turn is lent on loopback, which no proxy reaches.
  const environment: Record<string, string> = { NO_PROXY: "127.0.0.1,localhost", no_proxy: "127.0.0.1,localhost" }
  for (const name of inherited) {
    const value = process.env[name]
    if (value !== undefined) environment[name] = value
  }
  for (const [name, value] of Object.entries(command.environment)) {
    environment[name] = Redacted.isRedacted(value) ? Redacted.value(value) : value
  }
  const marks = markVariables([
    { kind: "lease", id: command.leaseId },
    { kind: "boot", id: bootId }
  ])
  return { ...environment, ...homeVariables(ownDirectories(command)), ...marks }
}
