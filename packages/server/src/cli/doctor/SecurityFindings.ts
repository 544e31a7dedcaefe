import { existsSync, statSync } from "node:fs"
import { whyShared } from "@reins/base/base/PrivateDirectory"
import { type Config, isLoopback } from "../../Config.js"
import * as Installation from "../operator/Installation.js"
import { type Finding, fail, ok, warn } from "./Finding.js"

/** Checks what SECURITY.md leaves to the operator, as far as the machine and the settings show it. */
export const securityFindings = (config: Config): ReadonlyArray<Finding> => [
  user(),
  privacy(config),
  keyFile(config),
  reach(config),
  proxies(config),
  ...openings(config)
]

/** True when people reach the server from other machines. */
const isPublic = ({ host, publicUrl }: Config): boolean => !isLoopback(host) || !isLoopback(publicUrl.hostname)

const user = (): Finding =>
  process.geteuid?.() === 0
    ? warn(
        "user",
        "the server would run as root, and its agents with it",
        "Run it as a user of its own that owns the data directory and nothing else."
      )
    : ok("user", "not root")

const privacy = ({ dataDir }: Config): Finding => {
  const check = "privacy"
  if (!existsSync(dataDir)) return ok(check, "the first start keeps other users out of the data directory")
  const why = whyShared(dataDir)
  if (why !== undefined)
    return fail(check, `${dataDir} cannot be kept from other users: ${why}`, "Name a directory of the server's own.")
  return (statSync(dataDir).mode & 0o077) === 0
    ? ok(check, "other users are kept out of the data directory")
    : warn(check, `other users may look into ${dataDir}`, "The next start shuts them out. At once: chmod 700")
}

const keyFile = (config: Config): Finding => {
  const check = "key file"
  const file = Installation.coreConfigOf(config).keyFile
  if (!existsSync(file)) return ok(check, "the first start makes it for its user alone")
  const { mode, uid } = statSync(file)
  const own = process.geteuid?.()
  if ((mode & 0o077) !== 0) return fail(check, `other users may read ${file}`, `Run: chmod 600 ${file}`)
  return own === undefined || own === 0 || own === uid
    ? ok(check, "its user alone may read it")
    : fail(check, `${file} belongs to another user`, "Give it to the user of the server with chown.")
}

const reach = (config: Config): Finding => {
  const check = "reach"
  if (!isPublic(config)) return ok(check, "this machine alone")
  if (isLoopback(config.host)) return ok(check, `${config.publicUrl.host}, through a proxy of this machine`)
  return warn(
    check,
    `the server listens on ${config.host} itself, without TLS`,
    "Let nobody but the proxy reach that address: listen on 127.0.0.1, or close the port to others."
  )
}

/** True for a network that holds half of all addresses or more. */
const isEverybody = (network: string): boolean => /\/[01]$/.test(network)

const proxies = (config: Config): Finding => {
  const check = "proxies"
  const { trustedProxies } = config
  if (trustedProxies.some(isEverybody))
    return fail(
      check,
      "everybody counts as a proxy, so every client chooses its address",
      "Name the proxies alone in REINS_TRUSTED_PROXIES."
    )
  if (config.publicUrl.protocol === "https:" && trustedProxies.length === 0)
    return warn(
      check,
      "no proxy is trusted, so all clients have the address of the proxy and share its limits",
      "Name it: REINS_TRUSTED_PROXIES=127.0.0.1"
    )
  return ok(check, trustedProxies.length === 0 ? "none" : trustedProxies.join(", "))
}

/** Settings that open something, each of which may be meant. */
const openings = (config: Config): ReadonlyArray<Finding> => {
  const check = "openings"
  const found = [
    config.allowLocalRepositories
      ? warn(
          check,
          "repositories may be paths of this machine, so members read what the server can read",
          "Unset REINS_ALLOW_LOCAL_REPOSITORIES unless all members may."
        )
      : undefined,
    config.allowPrivateHosts.includes("*")
      ? warn(
          check,
          "gateways and forges may be anywhere in the private network",
          "Name the hosts in REINS_ALLOW_PRIVATE_HOSTS instead of *."
        )
      : undefined,
    isPublic(config) && config.rateLimit === null
      ? warn(check, "there is no rate limit, nor one of registrations", "Unset REINS_RATE_LIMIT.")
      : undefined,
    isPublic(config) && config.metrics
      ? warn(check, "/metrics asks for no credentials", "Keep the path inside at the proxy, or set REINS_METRICS=off.")
      : undefined
  ].filter((finding) => finding !== undefined)
  return found.length === 0 ? [ok(check, "none")] : found
}
