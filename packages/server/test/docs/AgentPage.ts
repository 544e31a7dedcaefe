import type { CapabilityName } from "@reins/machine/harness/Capability"
import type { Check, Evidence } from "@reins/machine/harness/Evidence"
import { systemsInWords, systemsOf } from "@reins/machine/harness/HostPlatform"
import { Manifests, optionalProviders } from "@reins/machine/harness/Manifests"
import { type ProvenProvider, proofTable, shownAs } from "@reins/server/cli/harnesses/ProofTable"
import { Effect } from "effect"
import { made, table } from "./Markdown.js"

interface Agent extends ProvenProvider {
  readonly display_name: string
  readonly systems: string
  readonly runsBy: string
  readonly evidence: Evidence | null
}

/** Every provider of Reins that runs an agent, with the evidence that comes with its manifest. */
const agents: Effect.Effect<ReadonlyArray<Agent>> = Effect.gen(function* () {
  const { list, provenOf } = yield* Manifests
  return yield* Effect.forEach(
    list.filter(({ tier }) => tier !== "disabled"),
    ({ display_name, provider_id, runtime }) =>
      Effect.map(provenOf(provider_id), (proven) => ({
        display_name,
        provider_id,
        runsBy: runtime?.launch.command === "{{node}}" ? "the server's Node" : "itself",
        systems: systemsInWords(systemsOf(runtime?.install.platforms ?? [])),
        ...proven
      }))
  )
}).pipe(Effect.provide(Manifests.layerIn({ enabled: optionalProviders })), Effect.orDie)

/** The capabilities in which agents differ, in the words of the README. */
const differing: ReadonlyArray<readonly [CapabilityName, string]> = [
  ["native_resume", "Keeps its context"],
  ["interactive_approval", "Asks before it acts"],
  ["steer", "Takes messages while it works"],
  ["interrupt", "Can be interrupted"]
]

/** The table of the README: the agents by name, and the capabilities in which they differ. */
export const differences: Effect.Effect<string> = Effect.map(agents, (all) =>
  table(
    ["Agent", "Provider", ...differing.map(([, words]) => words)],
    all.map(({ display_name, proofs, provider_id }) => [
      display_name,
      `\`${provider_id}\``,
      ...differing.map(([name]) => shownAs(proofs, name))
    ])
  )
)

const measuredOf = ({ evidence }: Agent) => evidence?.checks.find(({ measured }) => measured !== undefined)?.measured

/** The figures measured in a large repository; none where no agent was. */
const largeTrees = (all: ReadonlyArray<Agent>): string => {
  const rows = all.flatMap((agent) => {
    const measured = measuredOf(agent)
    if (measured === undefined) return []
    const { first_tool_ms, home_bytes } = measured
    return [
      [`\`${agent.provider_id}\``, `${(first_tool_ms / 1_000).toFixed(1)} s`, `${(home_bytes / 1e6).toFixed(1)} MB`]
    ]
  })
  if (rows.length === 0) return ""
  return `## Large trees

A turn in a repository of 50,000 files, on the machine of the trial. The time is that from the prompt to the first tool. The bytes are those below HOME and
TMPDIR then.

${table(["Provider", "First tool after", "Below HOME"], rows)}
`
}

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

## Systems

Each agent is pinned for the systems that its packages were found for. \`GET /api/harnesses\` and \`reins harnesses list\` tell them, and an installation
elsewhere says so. All were tried on Linux on x64 with glibc, and nowhere else. Some are programs by themselves; the others run on the Node of the server. Of
those, the packages of \`claude\` and \`qwen\` ask for Node 22 or newer.

${table(
  ["Provider", "Can be installed on", "Runs by"],
  all.map(({ provider_id, runsBy, systems }) => [`\`${provider_id}\``, systems, runsBy])
)}
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
${largeTrees(all)}## Evidence

<!-- evidence: written by reins harnesses verify -->

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
  .join("\n")}
<!-- end of evidence -->
`
})
