import type { Check, Evidence } from "@reins/core/harness/Evidence"
import { Manifests, optionalProviders } from "@reins/core/harness/Manifests"
import { type ProvenProvider, proofTable } from "@reins/server/cli/harnesses/ProofTable"
import { Effect } from "effect"
import { made, table } from "./Markdown.js"

interface Agent extends ProvenProvider {
  readonly display_name: string
  readonly evidence: Evidence | null
}

/** Every provider of Reins that runs an agent, with the evidence that comes with its manifest. */
const agents: Effect.Effect<ReadonlyArray<Agent>> = Effect.gen(function* () {
  const { list, provenOf } = yield* Manifests
  return yield* Effect.forEach(
    list.filter(({ tier }) => tier !== "disabled"),
    ({ display_name, provider_id }) =>
      Effect.map(provenOf(provider_id), (proven) => ({ display_name, provider_id, ...proven }))
  )
}).pipe(Effect.provide(Manifests.layerIn({ enabled: optionalProviders })), Effect.orDie)

/** The table of the README: what agents differ in. */
export const differences: Effect.Effect<string> = Effect.map(agents, (all) =>
  proofTable(all, ["native_resume", "steer", "interrupt", "interactive_approval"])
)

const result = ({ passed }: Check): string => (passed ? "passed" : "failed")

/** docs/agents.md */
export const agentPage: Effect.Effect<string> = Effect.map(agents, (all) => {
  const tried = [
    ...new Set(
      all.flatMap(({ evidence }) =>
        (evidence?.checks ?? []).map(({ capability, check }) => `${check}|${capability ?? ""}`)
      )
    )
  ].map((each) => each.split("|") as [string, string])
  return `# What each agent was seen to do

${made("the evidence in manifests/, which `reins harnesses verify` writes")}Every agent was tried on real turns, offline, against a gateway that follows a script. A capability counts when it was seen to work: what is declared and
unproven is \`unknown\` to every request. [Providers](providers.md#proof) tells how to try an agent of your own.

## Capabilities

${proofTable(all)}
\`yes\` was seen, \`no\` is ruled out, \`?\` is not claimed, \`unproven\` is claimed and was not seen. \`reins harnesses verify --table\` prints the same for an
installation.

## Checks

${table(
  ["Check", "Proves", ...all.map(({ provider_id }) => `\`${provider_id}\``)],
  tried.map(([check, capability]) => [
    check,
    capability === "" ? "" : `\`${capability}\``,
    ...all.map(({ evidence }) => {
      const found = evidence?.checks.find((each) => each.check === check)
      return found === undefined ? "" : result(found)
    })
  ])
)}
## Evidence

${all
  .map(
    ({ display_name, evidence, provider_id }) =>
      `### \`${provider_id}\`: ${display_name}\n\n${
        evidence === null
          ? "Nobody has tried it.\n"
          : `${evidence.agent} on ${evidence.platform}, ${evidence.observed_at?.slice(0, 10)}\n\n${table(
              ["Check", "Result", "What was seen"],
              evidence.checks.map((each) => [each.check, result(each), each.evidence.replaceAll(/\s+/g, " ")])
            )}`
      }`
  )
  .join("\n")}`
})
