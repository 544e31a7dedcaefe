import { Redacted } from "effect"
import type { AgentCommand } from "./Executor.js"
import { markVariables } from "./Marks.js"

/** The variables that an agent without a sandbox inherits: search path, language, time zone and proxies. */
export const inheritedVariables = [
  "PATH",
  "LANG",
  "LC_ALL",
  "TZ",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "http_proxy",
  "https_proxy",
  "no_proxy",
  "NODE_EXTRA_CA_CERTS",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR"
]

/** The variables that an agent in a sandbox inherits. Proxies and certificates of the machine are of no use to it. */
export const inheritedInSandbox = ["LANG", "LC_ALL", "TZ"]

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
  command: AgentCommand,
  bootId: string,
  inherited: ReadonlyArray<string>
): Record<string, string> => {
  const environment: Record<string, string> = {}
  for (const name of inherited) {
    const value = process.env[name]
    if (value !== undefined) environment[name] = value
  }
  // The gateway of a turn is lent on loopback, which no proxy of the network reaches.
  for (const name of ["NO_PROXY", "no_proxy"]) {
    environment[name] = [environment[name], "127.0.0.1", "localhost"].filter(Boolean).join(",")
  }
  for (const [name, value] of Object.entries(command.environment)) {
    environment[name] = Redacted.isRedacted(value) ? Redacted.value(value) : value
  }
  const marks = markVariables([
    { kind: "lease", id: command.leaseId },
    { kind: "boot", id: bootId }
  ])
  return { ...environment, ...homeVariables(command), ...marks }
}
