import { canonicalJson, digestOf } from "@reins/base/base/CanonicalJson"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"
import { CapabilityName, type CapabilityProof, type CapabilityValue, capabilityNames } from "./Capability.js"

/** One thing that an agent was tried with. */
export const Check = Schema.Struct({
  check: Schema.String,
  /** The capability that it is about; null for what every agent has to do. */
  capability: Schema.NullOr(CapabilityName),
  passed: Schema.Boolean,
  /** Tells in words how it went, whether it passed or not. */
  evidence: Schema.String,
  /** The figures measured before the first tool of a turn in a large working tree. */
  measured: Schema.optionalWith(
    Schema.Struct({
      /** The time from the prompt to the tool, in milliseconds. */
      first_tool_ms: Schema.Int,
      /** The bytes below HOME and TMPDIR. */
      home_bytes: Schema.Int
    }),
    { exact: true }
  )
})
export type Check = typeof Check.Type

/** The record of a trial of an agent. `reins harnesses verify` writes it. */
export const Evidence = Schema.Struct({
  /** The subject of the trial, as `subjectOf` names it. For any other agent or settings the record proves nothing. */
  of: Schema.String.pipe(Schema.pattern(/^sha256:[0-9a-f]{64}$/)),
  /** The name and the version of the agent, as in `opencode 1.18.33`. */
  agent: Schema.String,
  /** The platform of the manifest that it was tried on. Evidence holds on the others too. */
  platform: Schema.String,
  /** The time of the trial; null for a word that is taken without one. */
  observed_at: Schema.NullOr(Timestamp),
  checks: Schema.Array(Check)
})
export type Evidence = typeof Evidence.Type

/** The digest of all that decides what an agent does: its pinned packages, its launch, its driver with the settings, and its credential. */
export const evidenceSubject = ({
  credential,
  runtime
}: {
  readonly credential: unknown
  readonly runtime: unknown
}): string => digestOf(canonicalJson({ credential, runtime }))

/** Each capability with what the evidence leaves of it. It is proven when it was tried, and every check of it has passed. */
export const proofsOf = (
  declared: Readonly<Record<CapabilityName, CapabilityValue>>,
  evidence: Evidence | undefined
): ReadonlyArray<CapabilityProof> =>
  capabilityNames.map((capability) => {
    const tried = evidence?.checks.filter((each) => each.capability === capability) ?? []
    const isProven = tried.length > 0 && tried.every(({ passed }) => passed)
    return {
      capability,
      declared: declared[capability],
      shown: declared[capability] === "supported" && !isProven ? "unproven" : declared[capability],
      evidence: tried.length === 0 ? null : tried.map((each) => each.evidence).join("; ")
    }
  })

/**
 * A manifest that is taken at its word: its author vouches for every capability that it declares. For a program with a driver of its own, which
 * no command can verify.
 */
export const vouched = <M extends { readonly credential: unknown; readonly runtime: unknown }>(
  manifest: M
): M & { readonly evidence: typeof Evidence.Encoded } => ({
  ...manifest,
  evidence: {
    of: evidenceSubject(manifest),
    agent: "any",
    platform: "any",
    observed_at: null,
    checks: capabilityNames.map((capability) => ({
      check: "word",
      capability,
      passed: true,
      evidence: "the author of the manifest vouches for it"
    }))
  }
})
