import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { Manifests, vouched } from "@reins/machine/harness/Manifests"
import alpha from "../../../../manifests/alpha.json" with { type: "json" }
import beta from "../../../../manifests/beta.json" with { type: "json" }
import { cacheDir } from "./Turns.js"

const program = join(import.meta.dirname, "small-agent.cjs")

/** A provider that starts the small agent instead of its own. Its capabilities, its connection and its installation stay. */
const withSmallAgent = (
  { tools, ...manifest }: typeof alpha | typeof beta,
  permission: "allow" | "ask" | "{{permissions.mode}}",
  environment: Readonly<Record<string, string>> = {}
) => ({
  ...manifest,
  // It calls tools of the service where it is told to.
  ...("TOOLS" in environment && { tools }),
  capabilities: { ...manifest.capabilities, tool_calls: "TOOLS" in environment ? "supported" : "unsupported" },
  runtime: {
    ...manifest.runtime,
    launch: {
      command: "{{node}}",
      args: [program],
      environment: { PERMISSION: permission, ...environment },
      permissions: { allow: { mode: "allow" }, ask: { mode: "ask" } },
      tmp_dir: "tmp",
      no_profile: "The small agent needs a connection with an api_key.",
      profiles: [
        {
          id: "gateway",
          when: { connection: true, secrets: ["api_key"] },
          environment: {
            BASE_URL: "{{connection.base_url}}",
            MODEL: "{{model}}",
            REINS_API_KEY: "{{secret.api_key}}"
          },
          files: []
        }
      ]
    },
    settings: {
      ...manifest.runtime.settings,
      usage_scope: "turn",
      error_as_text: null,
      stderr: { error: null, fatal: null },
      errors: [],
      model_selector: "none"
    },
    stop: { cancel_ms: 2000, stdin_eof_ms: 2000, sigterm_ms: 2000 },
    state: { paths: ["sessions.json"], ignore: [] }
  }
})

/** Alpha and beta with the small agent, for tests that are not about the agent. */
export const smallAgents = Manifests.layerOf([
  vouched(withSmallAgent(alpha, "allow")),
  vouched(withSmallAgent(beta, "allow"))
])

/** Alpha with the small agent, whose turn ends when it hears nothing of its model for so long. */
export const hastyAgents = (silenceMs: number) => {
  const { runtime, ...manifest } = withSmallAgent(alpha, "allow")
  const settings = { ...runtime.settings, silence_timeout_ms: silenceMs }
  return Manifests.layerOf([vouched({ ...manifest, runtime: { ...runtime, settings } })])
}

/**
 * Alpha with the small agent, which hides that its model calls fail: it calls the turn a success and says the error as `words`, or asks
 * `again` and again without an end.
 */
export const hidingAgents = (onError: "words" | "again") =>
  Manifests.layerOf([vouched(withSmallAgent(alpha, "allow", { ON_ERROR: onError }))])

/**
 * The same agents, which ask before each tool. A person answers where `approval` is supported, and the manifest's own answer is used otherwise.
 */
export const askingAgents = (approval: "supported" | "unsupported") => {
  const manifest = withSmallAgent(alpha, "ask")
  return Manifests.layerOf([
    vouched({ ...manifest, capabilities: { ...manifest.capabilities, interactive_approval: approval } })
  ])
}

/** Alpha with the small agent, which is offered tools and does not ask for them. */
export const deafAgents = Manifests.layerOf([
  vouched({ ...withSmallAgent(alpha, "allow"), tools: alpha.tools, capabilities: alpha.capabilities })
])

/** Alpha and beta with the small agent, which calls tools of the service. */
export const callingAgents = Manifests.layerOf([
  vouched(withSmallAgent(alpha, "allow", { TOOLS: "1" })),
  vouched(withSmallAgent(beta, "allow", { TOOLS: "1" }))
])

/** Alpha with the small agent, which calls tools and passes no image on to its model. */
export const blindAgents = Manifests.layerOf([
  vouched({ ...withSmallAgent(alpha, "allow", { TOOLS: "1" }), tools: { ...alpha.tools, images: false } })
])

/** Alpha with the small agent, which looks for instructions and skills where another agent does. */
export const guidedAgents = (guidance: { readonly instructions: string; readonly skills: string | null }) =>
  Manifests.layerOf([vouched({ ...withSmallAgent(alpha, "allow"), guidance })])

/** Alpha as it is, and beta with the small agent, which can be asked, steered and interrupted. It asks where the permissions say so. */
export const talkingAgents = Manifests.layerOf([
  vouched(withSmallAgent(alpha, "allow")),
  vouched(withSmallAgent(beta, "{{permissions.mode}}"))
])

/**
 * Installs the small agent as that of alpha in a cache directory below `directory`. Published servers need that (REINS_CACHE_DIR), because they
 * use their own manifests only.
 */
export const cacheWithSmallAgent = (directory: string): string => {
  const cache = join(directory, "cache")
  for (const name of readdirSync(join(cacheDir, "harnesses"))) {
    const real = join(cacheDir, "harnesses", name)
    for (const { executable } of alpha.runtime.install.platforms) {
      if (!existsSync(join(real, executable))) continue
      const installed = join(cache, "harnesses", name)
      mkdirSync(dirname(join(installed, executable)), { recursive: true })
      copyFileSync(join(real, "reins-install.json"), join(installed, "reins-install.json"))
      // An agent in a sandbox sees the files of its installation only, where a link may lead to it.
      copyFileSync(program, join(installed, "small-agent.cjs"))
      const beside = relative(dirname(executable), "small-agent.cjs")
      const script = `#!/bin/sh\nexec "${process.execPath}" "$(dirname "$0")/${beside}"\n`
      writeFileSync(join(installed, executable), script, { mode: 0o755 })
    }
  }
  return cache
}

/**
 * Writes the manifests of alpha and beta with the small agent to a directory, for published servers (REINS_MANIFESTS_DIR). It asks before each
 * tool where the permissions of the session say so. `install` gives the installation of alpha, where it is not to be that of the real agent.
 * With `callsTools` the agent calls tools of the service.
 */
export const manifestsWithSmallAgent = (
  directory: string,
  { callsTools = false, ...installed }: { readonly install?: object; readonly callsTools?: boolean } = {}
): string => {
  const manifests = join(directory, "manifests")
  mkdirSync(manifests, { recursive: true })
  for (const given of [alpha, beta]) {
    const manifest = withSmallAgent(given, "{{permissions.mode}}", callsTools ? { TOOLS: "1" } : {})
    const capabilities = { ...manifest.capabilities, interactive_approval: "supported" }
    const runtime = { ...manifest.runtime, ...(given === alpha && installed) }
    const written = vouched({ ...manifest, runtime, capabilities })
    writeFileSync(join(manifests, `${manifest.provider_id}.json`), JSON.stringify(written))
  }
  return manifests
}
