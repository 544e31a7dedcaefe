#!/usr/bin/env node
// Writes manifests/providers.json, the table of the providers for programs, from the manifests:
//   node scripts/providers.mjs           writes it
//   node scripts/providers.mjs --check   fails when it is not what the manifests say
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

const manifests = resolve(fileURLToPath(import.meta.url), "../../manifests")
const table = join(manifests, "providers.json")

/** The order of the specification. */
const tiers = ["supported", "experimental", "disabled"]
const order = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
const place = ({ provider_id: id, tier }) => [
  tiers.indexOf(tier),
  order.includes(id) ? order.indexOf(id) : order.length
]
const compare = (left, right) => {
  const [a, b] = [place(left), place(right)]
  return a[0] - b[0] || a[1] - b[1] || left.provider_id.localeCompare(right.provider_id)
}

const providers = readdirSync(manifests)
  .filter((name) => name.endsWith(".json") && name !== "providers.json" && name !== "prices.json")
  .map((name) => JSON.parse(readFileSync(join(manifests, name), "utf8")))
  .sort(compare)
  .map(({ capabilities, credential, display_name, provider_id, runtime, tier }) => ({
    provider_id,
    display_name,
    tier,
    connection: credential === null ? null : { kind: credential.connection_kind, required: credential.required },
    capabilities,
    agent: runtime === null ? null : runtime.agent
  }))

const text = `${JSON.stringify({ providers }, null, 2)}\n`
if (process.argv.includes("--check")) {
  const found = (() => {
    try {
      return readFileSync(table, "utf8")
    } catch {
      return ""
    }
  })()
  if (found !== text) {
    console.error("manifests/providers.json is not what the manifests say. Run: node scripts/providers.mjs")
    process.exit(1)
  }
} else writeFileSync(table, text)
